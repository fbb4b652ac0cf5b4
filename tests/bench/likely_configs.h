// Configs that a search would try. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "base/rng.h"
#include "compiler/graph/workload.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::bench {

// Of each family's random legal configs, the `count` that the analytic model thinks fastest.
std::vector<schedule::Config> LikelyConfigs(const graph::Workload& workload,
                                            const target::Target& target, size_t count, Rng& rng);

}  // namespace mlc::bench
