// The flag --tolerance of all programs that read a model.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mlc::client {

// Sets `tolerance` if the flag is given: 0, which admits no approximate algorithm, or a number
// below 1. Any other value ends the parsing with an error. `app` owns the option.
CLI::Option* AddToleranceFlag(CLI::App& app, std::optional<double>& tolerance,
                              const std::string& help);

}  // namespace mlc::client
