// --dim NAME=N: sizes of symbolic dimensions from the command line. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::client {

// INVALID_ARGUMENT for anything else than NAME=N with N >= 1, and for a name given twice.
Result<std::map<std::string, int64_t>> ParseDims(const std::vector<std::string>& arguments);

}  // namespace mlc::client
