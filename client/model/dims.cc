#include "client/model/dims.h"

#include <charconv>

namespace mlc::client {

Result<std::map<std::string, int64_t>> ParseDims(const std::vector<std::string>& arguments) {
  std::map<std::string, int64_t> dims;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.rfind('=');
    int64_t value = 0;
    if (equals != std::string::npos) {
      const char* end = argument.data() + argument.size();
      const auto result = std::from_chars(argument.data() + equals + 1, end, value);
      if (result.ec != std::errc() || result.ptr != end) value = 0;
    }
    if (equals == 0 || equals == std::string::npos || value < 1) {
      return InvalidArgument("--dim takes NAME=N with N of 1 or more, not '" + argument + "'");
    }
    if (!dims.emplace(argument.substr(0, equals), value).second) {
      return InvalidArgument("--dim " + argument.substr(0, equals) + " is given twice");
    }
  }
  return dims;
}

}  // namespace mlc::client
