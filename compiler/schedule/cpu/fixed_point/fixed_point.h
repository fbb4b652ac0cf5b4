// The fixed_point family: few rows times columns of few bits, where the processor has dot products
// of bytes (AVX-512 VNNI). Rows become fixed-point numbers of 21 bits and a sign, which share a
// factor in each group of 32 (or 16) elements; codes are multiplied as they are stored, as whole
// numbers, exactly. A kernel of it reads codes at the rate of memory, and its sums err as those of
// f32 do: by 2^-22 of the largest element of a group. An infinite element or scale gives an
// infinity or NaN, not always the one of f32.
//
// Knobs: mr rows and nr column vectors of a tile, col_chunks (pieces spread over threads), prefetch
// (of codes, in cache lines ahead). Stateless, thread-safe.
#pragma once

#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class FixedPointFamily final : public FamilyOf<ContractionProblem> {
 public:
  std::string_view name() const override { return "fixed_point"; }
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
