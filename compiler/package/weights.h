// The layout of a library's block of weights: raw constants, which kernels read unchanged, and
// prepared ones (packed, transformed). Each is stored once, however many steps use it. Constants
// that only substitutes read come last. All are aligned to 64 bytes; the first 64 bytes contain a
// check value. A value.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/schedule/space/family.h"

namespace mlc::package {

struct WeightsPlan {
  struct Raw {
    int constant = 0;  // of Program::constants
    int64_t offset = 0;
  };
  struct Prepared {
    int step = 0;  // whose constants are prepared
    bool for_substitute = false;
    int preparation = 0;  // of the task's LoweredKernel, or of its substitute's
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  std::vector<Raw> raw;
  std::vector<Prepared> prepared;
  std::map<int, int64_t> raw_offset;  // by constant
  // By step, for_substitute and preparation.
  std::map<std::tuple<int, bool, int>, int64_t> prepared_offset;
  int64_t own_bytes = 0;  // bytes from the start without those that only substitutes read
  int64_t bytes = 0;
};

// One kernel per task of the program each; null where a task has no substitute.
WeightsPlan PlanWeights(const graph::Program& program,
                        std::span<const schedule::LoweredKernel* const> lowered,
                        std::span<const schedule::LoweredKernel* const> substitutes);

// Creates the file with the check value and the raw constants; prepared ones are holes.
Status WriteRawWeights(const graph::Program& program, const WeightsPlan& plan,
                       const std::string& path);

// Sets the first 8 bytes to the digest of the rest and returns it. REQUIRES: all constants are
// written.
Result<uint64_t> SealWeights(const std::string& path);

}  // namespace mlc::package
