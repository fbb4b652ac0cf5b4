// --dim NAME=N: sizes of symbolic dimensions from the command line. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::client {

// INVALID_ARGUMENT unless each text is NAME=N with N >= 1 and each name occurs once.
Result<std::map<std::string, int64_t>> ParseDims(const std::vector<std::string>& arguments);

}  // namespace mlc::client
