// The contraction family: matrix products (any batch, broadcast, transposition, one row or column)
// and direct convolutions (one to three spatial axes; any stride, dilation, padding, group) as
// implicit matrix multiplication. Columns (output channels) are packed into panels, weights once at
// compile time; rows (pixels) are read in place, whatever their strides; register tiles of mr x mh
// rows by nr vectors are multiplied without any copy of a padded input. If the epilogue reads
// tensors of the result's shape that exceed the second-level caches, they are prefetched when a
// tile starts.
//
// Knobs: mr rows of the tile along the row axis, mh along the axis outside it, nr column vectors,
// rows_first (row tiles outside column panels), row_chunks and col_chunks (pieces spread over
// threads), unroll of k, prefetch (distance in k steps), pack (columns packed, or read in place),
// k_chunk (passes over k, with partial sums in scratch), stage (rows of a pass copied to scratch,
// away from strides that share few cache sets), prefetch_panel (the next panel is prefetched from
// memory during this one), decode (packed columns alone: weights of few bits become numbers a panel
// at a time, or in the inner loop). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/cpu/contraction/contraction_plan.h"
#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class ContractionFamily final : public FamilyOf<ContractionProblem> {
 public:
  std::string_view name() const override { return "contraction"; }
  int version() const override { return 2; }
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
  Result<LoweredKernel> LowerForRows(const graph::Workload& workload,
                                     const ContractionProblem& problem,
                                     const target::Target& target,
                                     const Config& config) const override;
};

// Parts of the family, declared for its tests.
RejectReason CheckPlan(const ContractionProblem& problem, const target::Target& target,
                       const ContractionPlan& plan);
KernelFacts PlanFacts(const graph::Workload& workload, const ContractionProblem& problem,
                      const target::Target& target, const ContractionPlan& plan);

}  // namespace mlc::schedule
