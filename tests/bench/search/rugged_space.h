// Made spaces that are as hard to search as recorded ones: knobs that interact, restrictions,
// regions that fail, plateaus, and optima of a few configs. A problem and a device have a number
// each. Devices of one problem agree in most of what makes a config fast, or, where the log of the
// others misleads, in half of it. Pure.
#pragma once

#include <cstdint>

#include "tests/bench/search/recorded_space.h"

namespace mlc::bench {

// Every third problem is one whose other devices mislead.
SpaceRef MakeRuggedSpace(uint64_t problem, uint64_t device);

}  // namespace mlc::bench
