// The Winograd family: 3x3 convolutions of stride 1 through F(2x2,3x3) and F(4x4,3x3), which need
// 2.25 and 4 times fewer multiplications. Weights are transformed once at compile time; a chunk
// transforms the inputs of a group of tiles, multiplies one small matrix for each of the (m+2)^2
// frequencies with the register tile of contractions, and transforms back with the epilogue fused.
// Everything between stays in the chunk's own scratch, sized for the L2 cache.
//
// Admitted by tolerance only. Measured against f64 on 14x14 images of data in [-1, 1], the largest
// error over the largest output at 16, 128 and 512 channels is 2.2e-7, 4.3e-7 and 8.4e-7 for F(2,3)
// and 2.2e-6, 7.4e-6 and 1.5e-5 for F(4,3): they are admitted from tolerances of 1e-5 and 1e-4.
//
// Knobs: m output tile, mr and nr of the register tile, groups (largest number of groups of tiles;
// they have one size), col_chunks (pieces of the columns, each with its own input transform),
// unroll. The family does not accept an image with so many tiles that no number of groups fits the
// cache. Stateless, thread-safe.
#pragma once

#include "compiler/schedule/problem/contraction_problem.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class WinogradFamily final : public FamilyOf<ContractionProblem> {
 public:
  std::string_view name() const override { return "winograd"; }
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
