// The row-reduction family for GPUs: softmax, log-softmax, layer norm and reductions over any axes
// and strides, with fused pointwise prologues and epilogues. Small rows share a warp, larger ones
// take one or more. Columns are reduced side by side, so that neighbouring threads read
// neighbouring memory. Several blocks share a reduction with few results, and the last block adds
// up their parts.
//
// Knobs: lanes (of a vector), group (threads of a row), threads (of a block, at least a group),
// keep (1: x stays in registers between passes), splits (blocks of a row). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/problem/row_reduce_problem.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

// The rows in the widest vectors that every operand can be read in, and in scalars.
struct GpuRows {
  RowProblem wide;
  RowProblem narrow;
};

class GpuRowReduceFamily final : public FamilyOf<GpuRows> {
 public:
  std::string_view name() const override { return "gpu_row_reduce"; }
  int version() const override { return 1; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<GpuRows> Find(const graph::Workload& workload,
                              const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const GpuRows& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const GpuRows& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const GpuRows& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const GpuRows& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const GpuRows& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
