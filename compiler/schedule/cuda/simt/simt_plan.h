// The decisions of a config of the simt_contraction family. A value; the functions are pure.
//
// The block computes bm x bn outputs in steps of bk along k, two steps in shared memory at a time;
// each thread has tm x tn of them, in groups of 4 columns. `split` blocks divide k.
#pragma once

#include <cstdint>

#include "compiler/schedule/cuda/tile/gpu_split.h"
#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/family.h"
#include "compiler/schedule/space/space.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

struct SimtPlan {
  int bm = 64, bn = 64, bk = 16;
  int tm = 4, tn = 4;
  int split = 1;
  bool cluster = false;  // the blocks that share k are one
  int per_sm = 0;

  int64_t m_tiles = 1, n_tiles = 1, k_steps = 1, split_steps = 1;

  KSplit k_split() const { return {split, cluster}; }
  int threads() const { return bm * bn / (tm * tn); }
  int64_t pitch(Side side) const { return (side == Side::kRow ? bm : bn) + 4; }
  int64_t stage_elements() const { return bk * (pitch(Side::kRow) + pitch(Side::kColumn)); }
  int64_t block_bytes() const;
  int64_t blocks(const GpuContraction& g) const { return g.z * split * m_tiles * n_tiles; }
  int registers() const { return tm * tn + 2 * (tm + tn) + 48; }
};

SimtPlan MakeSimtPlan(const GpuContraction& g, const Config& config);
RejectReason CheckSimtPlan(const GpuContraction& g, const target::Target& target,
                           const SimtPlan& plan);
KernelFacts SimtFacts(const graph::Workload& workload, const GpuContraction& g,
                      const target::Target& target, const SimtPlan& plan);
// The number of blocks that a multiprocessor holds at once, by their resources.
double BlocksPerSm(const target::Target& target, const SimtPlan& plan);
// Estimated clock cycles of the kernel, for comparisons between plans only.
double SimtCycles(const GpuContraction& g, const target::Target& target, const SimtPlan& plan);

Result<LoweredKernel> LowerSimt(const graph::Workload& workload, const GpuContraction& g,
                                const SimtPlan& plan);

// Constant columns as f32, tile by tile: [batch][column tile][k step][k][column], zeros outside.
int64_t SimtPackedElements(const GpuContraction& g, const SimtPlan& plan);
Preparation SimtPackPreparation(const graph::Workload& workload, const GpuContraction& g,
                                const SimtPlan& plan);

}  // namespace mlc::schedule
