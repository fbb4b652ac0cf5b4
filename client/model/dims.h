// --dim NAME=SIZES: sizes of symbolic dimensions from the command line. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/target/target.h"

namespace mlc::client {

using Dims = std::map<std::string, int64_t>;

// A dimension with several sizes.
struct VaryingDim {
  bool any_size = false;         // every size of the range; else those of the list
  std::vector<int64_t> sizes;    // that a run may have, ascending
  std::vector<int64_t> classes;  // that are planned; a size runs in the first that is not smaller
};

// The sizes that one command is about: every combination of the sizes of each dimension.
struct DimSizes {
  std::vector<std::string> varying;  // dimensions with several sizes, by name
  std::vector<VaryingDim> dims;      // the same dimensions
  // Of all dimensions, in ascending order; one at least. Those of a range are its classes.
  std::vector<Dims> combinations;

  bool varies() const { return !varying.empty(); }
  // Whether a dimension has a range.
  bool ranged() const;
  // Of the varying dimensions, in their order.
  std::vector<int64_t> SizesAt(size_t combination) const;
  // For people: "batch=8, seq=128", the varying dimensions alone.
  std::string TextAt(size_t combination) const;
};

// How far the classes of a range lie apart, where none are given: 1, 2, 3, 4, 6, 8 and then 12, 16,
// 24, ..., or 10, 12, 14, 16, 20, ...
enum class ClassSteps { kWide, kNarrow };
// Narrow ones where the padding of a class is computed.
ClassSteps ClassStepsFor(const target::Target& target);

// SIZES is a list of N, A..B and A..B:STEP, divided by commas, or a range: A..B alone, whose
// classes are those of `steps` and B, or A..B@LIST, whose classes are B and those of the list.
// Sizes may be 0, as the length of a cache is at first; 0..B alone has the class B. A range
// of one size is that size. INVALID_ARGUMENT unless each text is NAME=SIZES with sizes of 0 or
// more, each name occurs once, and there are at most 64 combinations.
Result<DimSizes> ParseDimSizes(const std::vector<std::string>& arguments,
                               ClassSteps steps = ClassSteps::kWide);

// The same where one size of each dimension is meant: INVALID_ARGUMENT if there are several.
Result<Dims> ParseDims(const std::vector<std::string>& arguments);

}  // namespace mlc::client
