// The row-reduction family: softmax, log-softmax, layer norm and reductions over any axes and
// strides, with fused pointwise prologues and epilogues. Rows are spread over the threads. Where
// the innermost dimension is reduced, lanes and chains hold partial results of one row; where it is
// kept, every lane is a row of its own.
//
// Knobs: chains (independent accumulators), keep (0: x is read again in every pass, 1: the row
// stays in thread scratch, 2: in registers, 3: a softmax is stored while the next row is computed),
// grain (elements of a chunk, in thousands of 1024), streaming (stores bypass the caches), prefetch
// (later rows are prefetched in no pass, in the second, in the last, or half in each), parts (of a
// row, where there are fewer rows than threads: a second phase joins their results). Stateless,
// thread-safe.
#pragma once

#include "compiler/schedule/problem/row_reduce_problem.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class RowReduceFamily final : public FamilyOf<RowProblem> {
 public:
  std::string_view name() const override { return "row_reduce"; }
  int version() const override { return 4; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<RowProblem> Find(const graph::Workload& workload,
                                 const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const RowProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const RowProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const RowProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const RowProblem& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const RowProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
