#include "compiler/schedule/cuda/row_reduce/row_splits.h"

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

RowSplits::RowSplits(ir::KernelBuilder& builder, const RowPlan& plan, const RowSweep& sweep,
                     RowGroup& group)
    : builder_(builder),
      plan_(plan),
      sweep_(sweep),
      group_(group),
      width_(plan.problem.inner ? 1 : plan.lanes) {
  if (plan.splits == 1) return;
  parts_ = builder.Workspace("partial", plan.problem.dtype, plan.items * plan.splits * width_);
  arrived_ = builder.Counter("arrived", plan.item_blocks());
}

void RowSplits::Share(ScalarOp op, ir::BufferId total) {
  if (plan_.splits == 1) return;
  const ExprRef zero = ir::Int(0);
  const auto slot = [&](const ExprRef& split) {
    return (split * plan_.items + sweep_.item()) * int64_t{width_};
  };
  builder_.If(sweep_.IsFirst(),
              [&] { builder_.Store(parts_, slot(sweep_.split()), builder_.Get(total, zero)); });
  last_ = builder_.Arrive("last", arrived_, sweep_.item_block(), plan_.splits);
  builder_.If(Less(zero, last_), [&] {
    builder_.Barrier();
    builder_.Set(total, zero, NeutralOf(op, plan_.problem.dtype, width_));
    builder_.For("s", group_.lane(), ir::Int(plan_.splits), plan_.group, [&](const ExprRef& s) {
      builder_.Set(total, zero,
                   Do(op, builder_.Get(total, zero), builder_.Load(parts_, slot(s), width_)));
    });
    group_.Combine(op, total);
  });
}

void RowSplits::WhereShared(const std::function<void()>& body) {
  if (plan_.splits == 1) return body();
  builder_.If(Less(ir::Int(0), last_), body);
}

}  // namespace mlc::schedule::gpu
