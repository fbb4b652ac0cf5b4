#include "compiler/front/ranged_sizes.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

namespace mlc::front {

namespace {

constexpr size_t kMostChecked = 4096;  // of all classes
constexpr size_t kFewChecked = 600;    // of one, where all are too many

// At most `count` numbers of a list: its ends, what lies around powers of two, where code often
// decides, and others at equal distances.
Sizes Few(const Sizes& list, size_t count) {
  if (list.size() <= count) return list;
  std::set<size_t> places = {0, list.size() - 1};
  const auto add = [&](size_t place) {
    if (places.size() < count && place < list.size()) places.insert(place);
  };
  for (size_t i = 1; i < 3; ++i) {
    add(i);
    add(list.size() - 1 - i);
  }
  for (size_t i = 1; 2 * i < count; ++i) add(2 * i * list.size() / count);
  for (size_t i = list.size(); i-- > 0;) {
    if (std::has_single_bit(static_cast<uint64_t>(list[i]))) {
      add(i);
      add(i + 1);
    }
  }
  Sizes few;
  for (const size_t place : places) few.push_back(list[place]);
  return few;
}

bool AreFew(const std::vector<RangedDim>& dims) {
  size_t count = 1;
  for (const RangedDim& dim : dims) {
    count *= dim.sizes.size();
    if (count > kMostChecked) return false;
  }
  return true;
}

}  // namespace

std::vector<Sizes> Combinations(const std::vector<Sizes>& lists) {
  std::vector<Sizes> all = {{}};
  for (const Sizes& list : lists) {
    std::vector<Sizes> longer;
    for (const Sizes& before : all) {
      for (const int64_t size : list) {
        longer.push_back(before);
        longer.back().push_back(size);
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<Sizes> ListsIn(const std::vector<RangedDim>& dims, const Sizes& classes) {
  std::vector<Sizes> lists;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Sizes& ends = dims[d].classes;
    const auto own = std::ranges::find(ends, classes[d]);
    const int64_t above = own == ends.begin() ? -1 : *(own - 1);
    Sizes& list = lists.emplace_back();
    for (const int64_t size : dims[d].sizes) {
      if (size > above && size <= classes[d]) list.push_back(size);
    }
  }
  return lists;
}

std::vector<Sizes> CheckedIn(const std::vector<RangedDim>& dims, const Sizes& classes) {
  std::vector<Sizes> lists = ListsIn(dims, classes);
  if (AreFew(dims)) return Combinations(lists);
  size_t count = 2;
  const auto all = [&](size_t each) {
    size_t product = 1;
    for (const Sizes& list : lists) product *= std::min(list.size(), each);
    return product;
  };
  while (count < kFewChecked && all(count + 1) <= kFewChecked) ++count;
  for (Sizes& list : lists) list = Few(list, count);
  return Combinations(lists);
}

std::string TextOf(const std::vector<RangedDim>& dims, const Sizes& sizes) {
  std::string text;
  for (size_t d = 0; d < dims.size(); ++d) {
    text += (d == 0 ? "" : ", ") + dims[d].name + "=" + std::to_string(sizes[d]);
  }
  return text;
}

}  // namespace mlc::front
