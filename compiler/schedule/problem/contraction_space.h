// Domains that the spaces of contractions share. Thread-safe (no state).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/schedule/space/space.h"

namespace mlc::schedule {

// The sizes of the larger tile when an axis is cut into equal parts. Other sizes would give the
// same cuts.
std::vector<int64_t> TileSizes(int64_t extent, int64_t limit);
std::vector<int64_t> UpTo(std::vector<int64_t> values, int64_t limit);
// The largest of ascending values that is at most `limit`, as in UpTo.
int64_t LargestUpTo(std::span<const int64_t> values, int64_t limit);
// Domain of the named knob. REQUIRES: it exists.
const std::vector<int64_t>& DomainOf(const Space& space, std::string_view knob);
void SetKnob(Config& config, std::string_view knob, int64_t value);

}  // namespace mlc::schedule
