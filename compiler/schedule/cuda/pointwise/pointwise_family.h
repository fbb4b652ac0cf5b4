// The pointwise family for GPUs: any workload of pointwise and data-movement nodes alone, and the
// operators that are plain loops over such values (cumulative sum, index of the extremum,
// scatters). One kernel reads each operand once and writes each output once.
//
// Knobs: lanes (of a vector, at most), unroll (vectors of a thread), threads (of a block), tile
// (edge of the squares that pass through shared memory where an operand runs across the output).
// Stateless, thread-safe.
#pragma once

#include "compiler/schedule/problem/pointwise_piece.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class GpuPointwiseFamily final : public FamilyOf<PointwiseProblem> {
 public:
  std::string_view name() const override { return "gpu_pointwise"; }
  int version() const override { return 1; }
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
