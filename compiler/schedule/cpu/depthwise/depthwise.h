// The depthwise family: convolutions with one filter for each channel, and grouped ones whose
// groups are so narrow that a vector holds several. Channels run along vectors; a tile of output
// pixels times channel vectors stays in registers while the taps pass by. Edges are variants that
// never multiply a tap outside the input. In a group of w channels, each lane meets the inputs of
// all of them as w shuffles of one vector: lane l takes lane l xor k, for k below w. One filter of
// i8 for each channel of u8 is summed in i32, by dot products of words of four taps.
//
// Knobs: mr and mh pixels of the tile along and across the row axis, nv channel vectors,
// rows_first (pixels outside channel blocks), row_chunks and ch_chunks (pieces spread over
// threads). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class DepthwiseFamily final : public FamilyOf<ContractionProblem> {
 public:
  std::string_view name() const override { return "depthwise"; }
  int version() const override { return 1; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<ContractionProblem> Find(const graph::Workload& workload,
                                         const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const ContractionProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const ContractionProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const ContractionProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const ContractionProblem& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const ContractionProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
