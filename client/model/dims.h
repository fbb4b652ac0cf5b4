// --dim NAME=SIZES: sizes of symbolic dimensions from the command line. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::client {

using Dims = std::map<std::string, int64_t>;

// The sizes that one command is about: every combination of the sizes of each dimension.
struct DimSizes {
  std::vector<std::string> varying;  // dimensions with several sizes, by name
  std::vector<Dims> combinations;    // of all dimensions, in ascending order; one at least

  bool varies() const { return !varying.empty(); }
  // Of the varying dimensions, in their order.
  std::vector<int64_t> SizesAt(size_t combination) const;
  // For people: "batch=8, seq=128", the varying dimensions alone.
  std::string TextAt(size_t combination) const;
};

// SIZES is a list of N, A..B and A..B:STEP, divided by commas. INVALID_ARGUMENT unless each text is
// NAME=SIZES with sizes of 1 or more, each name occurs once, and there are at most
// 64 combinations.
Result<DimSizes> ParseDimSizes(const std::vector<std::string>& arguments);

// The same where one size of each dimension is meant: INVALID_ARGUMENT if there are several.
Result<Dims> ParseDims(const std::vector<std::string>& arguments);

}  // namespace mlc::client
