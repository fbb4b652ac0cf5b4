// The window family: maximum and average pooling over one to three spatial dimensions, any strides
// of storage, pads, dilations, with fused pointwise prologues and epilogues. Lanes run along the
// output's innermost dimension: channels, or positions of a row. Windows that lie inside the input
// run without bounds; at the edges the loops over taps are clamped.
//
// Knobs: vectors (of channels per step, accumulated side by side), grain (output elements of a
// chunk, in thousands of 1024). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cpu/window/window_lower.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class WindowFamily final : public FamilyOf<WindowProblem> {
 public:
  std::string_view name() const override { return "window"; }
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
