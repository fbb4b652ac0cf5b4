// How blocks share k: the knob `split` of the contractions. If it is positive, this many blocks
// write their sums to scratch, and the last to arrive adds them up. If it is negative, its absolute
// value is the size of a cluster, in which each block adds up its share of the outputs from the
// others' shared memory. Values.
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

// The multiprocessors that the blocks of the grid can fill, one each. A cluster runs in one group
// of about 16 multiprocessors, which come in pairs; multiprocessors of a group beyond whole
// clusters stay empty.
inline double UsableSms(const target::Target& target, const KSplit& split) {
  const double sms = std::max(1, target.gpu().sms);
  return split.cluster ? sms * (16 - (split.parts - 1) / 2) / 16 : sms;
}

// Adds the traffic of the split to the facts; `bytes`: of the sums of all blocks. The sums of a
// cluster stay in shared memory; others are written to scratch and read again.
inline void CountSplit(const KSplit& split, double bytes, KernelFacts& facts) {
  if (split.parts > 1) (split.cluster ? facts.l1_bytes : facts.scratch_bytes) += 2 * bytes;
  facts.phases = split.parts > 1 && !split.cluster ? 2 : 1;
}

// Adds the cluster sizes up to `most` blocks; none if the device has no clusters.
inline void AddClusters(const target::Target& target, int64_t most, std::vector<int64_t>& splits) {
  if (target.gpu().compute < 90) return;
  for (const int64_t size : {8, 6, 4, 3, 2}) {
    if (size <= most) splits.push_back(-size);
  }
}

}  // namespace mlc::schedule
