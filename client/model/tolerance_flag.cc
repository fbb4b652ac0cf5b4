#include "client/model/tolerance_flag.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace mlc::client {

CLI::Option* AddToleranceFlag(CLI::App& app, std::optional<double>& tolerance,
                              const std::string& help) {
  const auto read = [&tolerance](const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    // NaN fails both comparisons.
    const bool good =
        error == std::errc() && end == text.data() + text.size() && value >= 0 && value < 1;
    if (!good) {
      throw CLI::ValidationError(
          "--tolerance", "'" + text.substr(0, 40) +
                             "' is no tolerance: give 0, for no approximate algorithm, or a number "
                             "below 1, for example 1e-4");
    }
    tolerance = value;
  };
  return app.add_option_function<std::string>("--tolerance", read, help)->type_name("FLOAT");
}

}  // namespace mlc::client
