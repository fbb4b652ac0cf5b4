// Configs of contractions with the least estimated time, for benchmarks. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::bench {

// The families that multiply on a GPU's matrix units.
inline constexpr const char* kMatrixFamilies[] = {"tensor_contraction", "warpgroup_contraction",
                                                  "role_contraction"};

inline constexpr const char* kImageFamily = "image_convolution";

// Texts of `count` configs, few of one tile: the estimate is not to be trusted that far. None if
// the family does not accept the workload. `family`: one of kMatrixFamilies or kImageFamily, or one
// followed by
// ":KNOB=VALUE" once or more, which stands for its configs with these values. REQUIRES: the family
// has the knobs.
std::vector<std::string> LeastEstimates(const std::string& family, const graph::Workload& workload,
                                        const target::Target& target, size_t count);

}  // namespace mlc::bench
