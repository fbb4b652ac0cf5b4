// The skinny_contraction family: products of at most 8 rows with constant columns, limited by
// memory bandwidth. Each warp computes a few columns: its lanes divide k, keep several 16-byte
// loads of columns in flight, and add up their sums with shuffles. The rows are in shared memory as
// f32. Columns are packed at compile time in the order in which warps read them. f32, f16 and bf16;
// sums are f32. Any pointwise epilogue.
//
// Knobs: warps of a block, columns of a warp, unroll (loads of a column in flight), split (blocks
// that divide k), turns (tiles of a block), stages (steps of a warp in shared memory, through which
// columns then pass; 0: none). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class SkinnyContractionFamily final : public FamilyOf<GpuContraction> {
 public:
  std::string_view name() const override { return "skinny_contraction"; }
  int version() const override { return 3; }
  std::vector<std::string_view> layout_knobs() const override { return {"warps", "columns"}; }
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
