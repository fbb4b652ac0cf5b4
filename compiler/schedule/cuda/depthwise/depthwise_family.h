// The depthwise family for GPUs: convolutions with one filter for each channel, of one to three
// spatial dimensions and any layout, with fused pointwise epilogues.
//
// Knobs: lanes (channels of a thread, where they are innermost), tw and th (outputs of a thread
// along the width and the height), threads (of a block). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cuda/depthwise/depthwise_lower.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class GpuDepthwiseFamily final : public FamilyOf<gpu::DepthwiseProblem> {
 public:
  std::string_view name() const override { return "gpu_depthwise"; }
  int version() const override { return 1; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<gpu::DepthwiseProblem> Find(const graph::Workload& workload,
                                            const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const gpu::DepthwiseProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const gpu::DepthwiseProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const gpu::DepthwiseProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const gpu::DepthwiseProblem& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const gpu::DepthwiseProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
