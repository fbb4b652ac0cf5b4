#include "compiler/schedule/problem/contraction_space.h"

#include <algorithm>
#include <set>

namespace mlc::schedule {

std::vector<int64_t> TileSizes(int64_t extent, int64_t limit) {
  std::set<int64_t> sizes;
  for (int64_t tile = 1; tile <= std::min(extent, limit); ++tile) {
    const int64_t parts = (extent + tile - 1) / tile;
    sizes.insert((extent + parts - 1) / parts);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<int64_t> UpTo(std::vector<int64_t> values, int64_t limit) {
  std::erase_if(values, [&](int64_t v) { return v > std::max<int64_t>(limit, 1); });
  return values;
}

int64_t LargestUpTo(std::span<const int64_t> values, int64_t limit) {
  int64_t largest = values.front();
  for (const int64_t value : values) largest = value <= limit ? value : largest;
  return largest;
}

const std::vector<int64_t>& DomainOf(const Space& space, std::string_view knob) {
  return std::find_if(space.knobs.begin(), space.knobs.end(),
                      [&](const Knob& k) { return k.name == knob; })
      ->domain;
}

void SetKnob(Config& config, std::string_view knob, int64_t value) {
  for (auto& [name, current] : config.knobs) {
    if (name == knob) current = value;
  }
}

}  // namespace mlc::schedule
