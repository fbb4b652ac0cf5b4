// Which configs of a task are measured once, so that searches can be replayed on them: the pruned
// space, or the most promising part of it where it has thousands. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/workload.h"
#include "compiler/target/target.h"

namespace mlc::bench {

struct SelectionSizes {
  // A config is in the pruned space if its estimate is at most so many times the least one.
  double factor = 4;
  size_t best = 600;    // of the pruned space, by estimate, families in turns
  size_t random = 200;  // of all other legal configs
};

struct Selection {
  int64_t legal = 0;   // configs of all families
  int64_t pruned = 0;  // those of the pruned space
  // The defaults of all families, then the best and the random ones mixed, so that any beginning of
  // the list is a smaller selection of the same kind.
  std::vector<std::string> configs;
};

// Deterministic by seed.
Selection SelectConfigs(const graph::Workload& workload, const target::Target& target,
                        const SelectionSizes& sizes, uint64_t seed);

}  // namespace mlc::bench
