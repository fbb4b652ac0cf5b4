// A workload with random operands and its reference, and configs of GPU families held against it by
// the interpreter. Failures are reported through GoogleTest. Not thread-safe.
#pragma once

#include <cstddef>
#include <vector>

#include "base/rng.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/family.h"

namespace mlc::schedule {

struct CudaCase {
  graph::Workload workload;
  std::vector<std::vector<std::byte>> operands;  // in storage form
  std::vector<graph::TensorDataRef> reference;
};

target::Target HopperTarget();
// Operands are random between `low` and 1, those of u8 any byte.
CudaCase MakeCudaCase(Rng& rng, graph::Workload workload, double low = -1);
// Lowers, verifies and interprets a config, preparations first; gives the largest difference of an
// output over its largest reference value, or a negative number after a failure. `outputs`, if any,
// get what it stored.
double CudaError(CudaCase& c, const target::Target& target, const Config& config,
                 std::vector<std::vector<std::byte>>* outputs = nullptr);

}  // namespace mlc::schedule
