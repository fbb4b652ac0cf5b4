// The role_contraction family: large products of f16, bf16, float8, f32 (as tf32) and u8 by i8
// whose warps have roles. One warp copies tiles of both operands to shared memory, by tensor copies
// and in bulk, which arrive at mbarriers; warpgroups wait there and multiply them (wgmma), without
// a barrier of the block and without addresses. For products whose rows lie at one distance from
// each other along k, with constant columns (packed) or columns along k.
//
// And for convolutions, channels last, with constant filters: k goes over taps, then channels, and
// a tile of rows is a box of images, rows and columns of the output, so that its input at a tap is
// a box, too, which one tensor copy brings with zeros for the padding. The channels of a tap are
// whole steps of k.
//
// Knobs: bm, bn (the tile), groups (warpgroups that multiply), alternate (they take turns at tiles
// instead of sharing each), stages (steps of 128 bytes of k in shared memory), pending (steps whose
// products are under way while the next begins), band (order of tiles), split (blocks that share
// the k of a tile, through memory), storers (warps that carry results to global memory; 0: those
// that multiply do), cluster (blocks that share copies: 2 with the same columns, -2 with the same
// rows). Of convolutions whose boxes allow it also reuse: a stage holds the rows of all taps above
// each other, so that L2 is read once for a column of the filter. Of float8 also apart: the unit's
// sums of each step are added up outside of it, because it cuts sums to 14 bits. Stateless,
// thread-safe.
#pragma once

#include "compiler/schedule/cuda/tensor/role_plan.h"
#include "compiler/schedule/space/family_of.h"

namespace mlc::schedule {

class RoleContractionFamily final : public FamilyOf<RoleProblem> {
 public:
  std::string_view name() const override { return "role_contraction"; }
  int version() const override { return 6; }
  std::vector<std::string_view> layout_knobs() const override { return {"bn"}; }
  bool Accepts(const graph::Workload& workload, const target::Target& target) const override;

 protected:
  std::optional<RoleProblem> Find(const graph::Workload& workload,
                                  const target::Target& target) const override;
  Space MakeSpace(const graph::Workload& workload, const RoleProblem& problem,
                  const target::Target& target) const override;
  RejectReason Check(const graph::Workload& workload, const RoleProblem& problem,
                     const target::Target& target, const Config& config) const override;
  KernelFacts Facts(const graph::Workload& workload, const RoleProblem& problem,
                    const target::Target& target, const Config& config) const override;
  Config Default(const graph::Workload& workload, const RoleProblem& problem,
                 const target::Target& target) const override;
  Config DefaultIn(const graph::Workload& workload, const RoleProblem& problem,
                   const target::Target& target, const Space& part) const override;
  Result<LoweredKernel> Lower(const graph::Workload& workload, const RoleProblem& problem,
                              const target::Target& target, const Config& config) const override;
};

}  // namespace mlc::schedule
