// The few_bits_contraction family: products of at most 16 rows of f16 or bf16 with constant columns
// of 2, 4 or 8 bits, limited by memory bandwidth. Warps decode the columns in registers and
// multiply on matrix units; sums are f32. Any pointwise epilogue.
//
// Knobs: warps of a block, slices (warps that divide k; the others have columns of their own),
// unroll (chunks of a warp in flight), split (blocks that divide k), turns (tiles of a block).
// Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class FewBitsContractionFamily final : public FamilyOf<GpuContraction> {
 public:
  std::string_view name() const override { return "few_bits_contraction"; }
  int version() const override { return 3; }
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
  Result<LoweredKernel> Lower(const graph::Workload& workload, const GpuContraction& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
