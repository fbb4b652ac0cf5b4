// The attention family: softmax(scale * q k^T + mask) v for short sequences, operands at any
// strides and with fused pointwise prologues and epilogues. A chunk is a range of queries of one
// head: it packs the head's keys (transposed) and values into thread scratch, then takes a register
// tile of queries at a time through scores, softmax and output, all in the first-level cache.
//
// Knobs: mr (queries of a tile), nk and nv (vectors of keys and of value columns of a tile), splits
// (chunks of one head's queries), unroll (steps of the products' inner loops). Stateless,
// thread-safe.
#pragma once

#include "compiler/schedule/cpu/attention/attention_lower.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class AttentionFamily final : public FamilyOf<AttentionProblem> {
 public:
  std::string_view name() const override { return "attention"; }
  int version() const override { return 1; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<AttentionProblem> Find(const graph::Workload& workload,
                                       const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const AttentionProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const AttentionProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const AttentionProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const AttentionProblem& problem,
                 const target::Target& target) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const AttentionProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
