// The sizes of a model whose dimensions vary, and the classes that they run in. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlc::front {

using Sizes = std::vector<int64_t>;  // one a dimension

// A symbolic dimension with several sizes.
struct RangedDim {
  std::string name;
  Sizes sizes;    // that runs may have, ascending
  Sizes classes;  // ascending; a size runs in the first class that is not smaller
};

// All combinations of one number of each list, in ascending order.
std::vector<Sizes> Combinations(const std::vector<Sizes>& lists);

// By dimension: the sizes that run in a class.
std::vector<Sizes> ListsIn(const std::vector<RangedDim>& dims, const Sizes& classes);

// The sizes of a class that are checked one by one, the least ones first: all, if all classes
// together have at most 4096; else hundreds, with the least and the greatest of each dimension.
std::vector<Sizes> CheckedIn(const std::vector<RangedDim>& dims, const Sizes& classes);

// For people: "batch=8, seq=128".
std::string TextOf(const std::vector<RangedDim>& dims, const Sizes& sizes);

}  // namespace mlc::front
