// How blocks share k: the knob `split` of the contractions. From 1 on, so many blocks write their
// sums to scratch, and the last to arrive adds them up; below 0, so many blocks form a cluster, in
// which each adds up its share of the outputs from the others' shared memory. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

struct KSplit {
  int parts = 1;
  bool cluster = false;
};

inline KSplit SplitOf(int64_t knob) { return {static_cast<int>(std::abs(knob)), knob < 0}; }

// Multiprocessors that the blocks of the grid can fill, one each. A cluster stays in one group of
// about 16 multiprocessors, which come in pairs; what a group has beyond whole clusters stays
// empty.
inline double UsableSms(const target::Target& target, const KSplit& split) {
  const double sms = std::max(1, target.gpu().sms);
  return split.cluster ? sms * (16 - (split.parts - 1) / 2) / 16 : sms;
}

// What the split adds to the facts; `bytes`: of the sums of all blocks. A cluster's stay in shared
// memory, the others make a round through scratch.
inline void CountSplit(const KSplit& split, double bytes, KernelFacts& facts) {
  if (split.parts > 1) (split.cluster ? facts.l1_bytes : facts.scratch_bytes) += 2 * bytes;
  facts.phases = split.parts > 1 && !split.cluster ? 2 : 1;
}

// Adds the clusters of those sizes up to `most` blocks; none where the device has no clusters.
inline void AddClusters(const target::Target& target, int64_t most, std::vector<int64_t>& splits) {
  if (target.gpu().compute < 90) return;
  for (const int64_t size : {8, 6, 4, 3, 2}) {
    if (size <= most) splits.push_back(-size);
  }
}

}  // namespace mlc::schedule
