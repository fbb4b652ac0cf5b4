// The pooling family for GPUs: maximum and average pooling over one to three spatial dimensions,
// any strides of storage, pads and dilations, with fused pointwise prologues and epilogues.
//
// Knobs: lanes (channels of a thread, where they are innermost), threads (of a block). Stateless,
// thread-safe.
#pragma once

#include "compiler/schedule/cpu/window/window_lower.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class GpuPoolFamily final : public FamilyOf<WindowProblem> {
 public:
  std::string_view name() const override { return "gpu_pool"; }
  int version() const override { return 1; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<WindowProblem> Find(const graph::Workload& workload,
                                    const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const WindowProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const WindowProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const WindowProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const WindowProblem& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const WindowProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
