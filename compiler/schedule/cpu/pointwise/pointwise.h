// The pointwise family: any workload of pointwise and data-movement nodes alone, and the few
// operators that are plain loops over such values (cumulative sum, index of the extremum,
// scatters). One kernel reads each operand once and writes each output once.
//
// Knobs: unroll (vectors per iteration), tile (rows of a block where an operand is read across the
// output's order; 0 walks single rows), grain (elements of a chunk, in thousands of 1024),
// streaming (stores bypass the caches where they are aligned, and transposed operands are
// prefetched). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/problem/pointwise_piece.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class PointwiseFamily final : public FamilyOf<PointwiseProblem> {
 public:
  std::string_view name() const override { return "pointwise"; }
  int version() const override { return 3; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<PointwiseProblem> Find(const graph::Workload& workload,
                                       const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const PointwiseProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const PointwiseProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const PointwiseProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const PointwiseProblem& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const PointwiseProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
