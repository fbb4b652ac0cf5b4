// The simt_contraction family: matrix products and convolutions of any shape, stride, padding,
// dilation and layout without matrix units, in f32 arithmetic: f32, f16 and bf16 operands. Constant
// columns are packed at compile time. Any pointwise epilogue.
//
// Knobs: bm, bn, bk (the tile of a block and its step along k), tm, tn (the tile of a thread),
// split (blocks that divide k). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class SimtContractionFamily final : public FamilyOf<GpuContraction> {
 public:
  std::string_view name() const override { return "simt_contraction"; }
  int version() const override { return 1; }
  std::vector<std::string_view> layout_knobs() const override { return {"bn", "bk"}; }
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
