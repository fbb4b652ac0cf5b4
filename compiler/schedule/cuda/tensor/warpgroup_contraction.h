// The warpgroup_contraction family: what tensor_contraction does for f16, bf16 and f32 (as tf32, or
// in three passes with the same error), with the matrix instructions of Hopper (wgmma): warpgroups
// multiply tiles straight from shared memory, at a higher rate than mma.sync. For products and
// convolutions whose operands lie along k (constant columns are packed so; those of f32 must be
// constant), large enough to fill tiles of 64 rows. In three passes, rows are split in registers,
// columns when they are packed, in twice the memory.
//
// Knobs: bm, bn (the tile of a block), groups_m, groups_n (its warpgroups), stages (steps of 128
// bytes of k in shared memory), pending (steps whose products are under way while the next begins;
// 0 in three passes), split (blocks that divide k), raster (order of tiles). Stateless,
// thread-safe.
#pragma once

#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class WarpgroupContractionFamily final : public FamilyOf<GpuContraction> {
 public:
  std::string_view name() const override { return "warpgroup_contraction"; }
  int version() const override { return 1; }
  std::vector<std::string_view> layout_knobs() const override { return {"bn"}; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<GpuContraction> Find(const graph::Workload& workload,
                                     const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const GpuContraction& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const GpuContraction& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const GpuContraction& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const GpuContraction& problem,
                 const target::Target& target) const override;
  Config DefaultIn(const graph::Workload& workload, const GpuContraction& problem,
                   const target::Target& target, const Space& part) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const GpuContraction& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
