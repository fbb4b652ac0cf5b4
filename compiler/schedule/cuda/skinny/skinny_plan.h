// The decisions of a config of the skinny_contraction family. A value; the functions are pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/tile/gpu_normed_rows.h"
#include "compiler/schedule/cuda/tile/gpu_split.h"
#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/family.h"
#include "compiler/schedule/space/space.h"
#include "compiler/target/target.h"

namespace mlc::schedule {

inline constexpr int64_t kMaxSkinnyRows = 8;

struct SkinnyPlan {
  int warps = 8;
  int columns = 2;  // of a warp
  int unroll = 4;
  int split = 1;
  bool cluster = false;  // the blocks that share k are one
  int turns = 1;         // tiles of a block, one after the other
  int stages = 0;        // steps of a warp in shared memory; 0: columns go to registers

  int lanes = 8;      // elements of one 16-byte load
  int ends = 1;       // columns that an output is computed from: neighbours in a warp
  int64_t tiles = 1;  // of warps * columns columns
  int64_t steps = 1;  // of 32 * lanes elements along k
  int64_t split_steps = 1;

  KSplit k_split() const { return {split, cluster}; }
  int threads() const { return 32 * warps; }
  int width() const { return warps * columns; }
  int outputs() const { return width() / ends; }  // of a row
  int64_t step() const { return 32 * lanes; }
  int64_t row_elements() const { return split_steps * step(); }  // of one row in shared memory
  // Of a warp's steps in shared memory.
  int64_t stage_elements() const { return columns * step(); }
  int64_t ring_elements() const { return warps * stages * stage_elements(); }
  int64_t ring_bytes() const { return ring_elements() * 16 / lanes; }
  int64_t block_bytes(const GpuContraction& g) const {
    return 4 * g.m * (row_elements() + width() + 8) + NormedRows::Bytes(g, threads()) +
           ring_bytes();
  }
  int64_t grid_tiles() const { return CeilDiv(tiles, int64_t{turns}); }
  int64_t blocks() const { return split * grid_tiles(); }
  int registers(const GpuContraction& g) const {
    const int products = static_cast<int>(g.m) * columns + 2 * lanes;
    return 40 + 4 * (stages > 0 ? 1 : unroll) * columns +
           std::max(products, NormedRows::Registers(g, threads()));
  }
};

SkinnyPlan MakeSkinnyPlan(const GpuContraction& g, const Config& config);
RejectReason CheckSkinnyPlan(const GpuContraction& g, const target::Target& target,
                             const SkinnyPlan& plan);
Result<LoweredKernel> LowerSkinny(const graph::Workload& workload, const GpuContraction& g,
                                  const SkinnyPlan& plan);

}  // namespace mlc::schedule
