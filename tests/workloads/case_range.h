// How many random cases a test draws, and from which seed on, so that a failing case can be drawn
// alone: from MLC_TEST_CASES and MLC_TEST_SEED.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace mlc::schedule {

struct CaseRange {
  uint64_t seed = 1;  // of the first case; the others follow
  int count = 1;
};

inline CaseRange CasesFromEnvironment(int usual) {
  CaseRange range;
  const char* seed = std::getenv("MLC_TEST_SEED");
  const char* count = std::getenv("MLC_TEST_CASES");
  if (seed != nullptr) range.seed = std::strtoull(seed, nullptr, 10);
  range.count = count == nullptr ? usual : std::max(1, std::atoi(count));
  return range;
}

// The environment in which a program draws that case alone.
inline std::string OneCase(uint64_t seed) {
  return "MLC_TEST_SEED=" + std::to_string(seed) + " MLC_TEST_CASES=1";
}

}  // namespace mlc::schedule
