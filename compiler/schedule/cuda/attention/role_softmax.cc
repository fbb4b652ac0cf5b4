#include "compiler/schedule/cuda/attention/role_softmax.h"

#include <limits>
#include <numbers>

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ExprRef F32(double value, int lanes = 1) { return ir::Float(DType::kF32, value, lanes); }

}  // namespace

RoleSoftmax::RoleSoftmax(ir::KernelBuilder& builder, const RoleAttentionPlan& plan)
    : builder_(builder),
      plan_(plan),
      scores_(builder.Registers("s", DType::kF32, 4, plan.score_tiles())),
      weights_(builder.Registers("p", plan.data, 4, plan.score_tiles())),
      output_(builder.Registers("o", DType::kF32, 4, plan.output_tiles())),
      fold_(builder.Thread("fold", DType::kF32, 4)),
      top_(builder.Registers("top", DType::kF32, 1, 2)),
      sum_(builder.Registers("sum", DType::kF32, 1, 2)),
      next_(builder.Registers("next", DType::kF32, 1, 2)),
      factor_(builder.Registers("factor", DType::kF32, 1, 2)),
      shift_(builder.Registers("shift", DType::kF32, 1, 2)),
      part_(builder.Registers("part", DType::kF32, 4, 2)),
      spread_(builder.Registers("spread", DType::kF32, 4, 1)) {}

void RoleSoftmax::Reset() {
  builder_.Unrolled("e", plan_.output_tiles(),
                    [&](const ExprRef& e) { builder_.Set(output_, e, F32(0, 4)); });
  for (int h = 0; h < 2; ++h) {
    builder_.Set(top_, ir::Int(h), F32(-kInfinity));
    builder_.Set(sum_, ir::Int(h), F32(0));
  }
}

void RoleSoftmax::Mask(const ExprRef& query, const ExprRef& first, const ExprRef& fresh) {
  // Of the thread's columns: those it shows lie at `low` or behind, and before end[half].
  ExprRef low, end[2];
  if (plan_.tail()) low = builder_.Let("low", fresh - first - pair_);
  for (int h = 0; h < 2 && plan_.causal; ++h) {
    end[h] = builder_.Let("end", query + row_ - first - pair_ + (plan_.ahead + 1 + 8 * h));
  }
  for (int n = 0; n < plan_.score_tiles(); ++n) {
    builder_.Store(fold_, ir::Int(0), builder_.Get(scores_, ir::Int(n)));
    for (int lane = 0; lane < 4; ++lane) {
      const ExprRef column = ir::Int(n * 8 + lane % 2);
      ExprRef shown;
      if (plan_.causal) shown = Less(column, end[lane / 2]);
      if (low) {
        const ExprRef is_fresh = Do(ScalarOp::kLessEqual, low, column);
        shown = shown ? Do(ScalarOp::kAnd, shown, is_fresh) : is_fresh;
      }
      builder_.Store(fold_, ir::Int(lane),
                     ir::MakeApply(ScalarOp::kSelect,
                                   {shown, builder_.Load(fold_, ir::Int(lane)), F32(-kInfinity)}));
    }
    builder_.Set(scores_, ir::Int(n), builder_.Load(fold_, ir::Int(0), 4));
  }
}

// op over the thread's columns, as a fragment.
ExprRef RoleSoftmax::FoldScores(ScalarOp op) {
  const auto part = [&](int i) { return builder_.Get(part_, ir::Int(i)); };
  const auto score = [&](int n) { return builder_.Get(scores_, ir::Int(n)); };
  for (int n = 0; n < plan_.score_tiles(); ++n) {
    builder_.Set(part_, ir::Int(n % 2), n < 2 ? score(n) : Do(op, part(n % 2), score(n)));
  }
  return Do(op, part(0), part(1));
}

void RoleSoftmax::ShareRows(ScalarOp op, ir::BufferId values) {
  for (int mask = 1; mask <= 2; ++mask) {
    for (int h = 0; h < 2; ++h) {
      const ExprRef mine = builder_.Get(values, ir::Int(h));
      builder_.Set(values, ir::Int(h), Do(op, mine, ir::MakeShuffleXor(mine, mask)));
    }
  }
}

// A value per row as the lanes of a fragment.
ExprRef RoleSoftmax::Spread(ir::BufferId values) {
  for (int lane = 0; lane < 4; ++lane) {
    builder_.Store(fold_, ir::Int(lane), builder_.Get(values, ir::Int(lane / 2)));
  }
  builder_.Set(spread_, ir::Int(0), builder_.Load(fold_, ir::Int(0), 4));
  return builder_.Get(spread_, ir::Int(0));
}

void RoleSoftmax::Update(bool first_scores) {
  const double scale = plan_.problem.scale * std::numbers::log2e;
  const auto pair = [&](ScalarOp op, int h) {
    return Do(op, builder_.Load(fold_, ir::Int(2 * h)), builder_.Load(fold_, ir::Int(2 * h + 1)));
  };
  builder_.Store(fold_, ir::Int(0), FoldScores(ScalarOp::kMax));
  for (int h = 0; h < 2; ++h) builder_.Set(next_, ir::Int(h), pair(ScalarOp::kMax, h));
  ShareRows(ScalarOp::kMax, next_);
  for (int h = 0; h < 2; ++h) {
    const ExprRef at = ir::Int(h), old = builder_.Get(top_, at);
    if (!first_scores) {
      builder_.Set(next_, at, Do(ScalarOp::kMax, old, builder_.Get(next_, at)));
    }
    const ExprRef next = builder_.Get(next_, at);
    // Rows that have seen no key so far have no maximum to subtract.
    builder_.Set(shift_, at,
                 ir::MakeApply(ScalarOp::kSelect, {Do(ScalarOp::kEqual, next, F32(-kInfinity)),
                                                   F32(0), Do(ScalarOp::kMul, next, F32(-scale))}));
    if (!first_scores) {
      builder_.Set(factor_, at,
                   Do(ScalarOp::kExp2,
                      ir::MakeApply(ScalarOp::kFma, {old, F32(scale), builder_.Get(shift_, at)})));
    }
    builder_.Set(top_, at, next);
  }
  const ExprRef shift = Spread(shift_);
  for (int n = 0; n < plan_.score_tiles(); ++n) {
    const ExprRef at = ir::Int(n);
    builder_.Set(scores_, at,
                 Do(ScalarOp::kExp2, ir::MakeApply(ScalarOp::kFma, {builder_.Get(scores_, at),
                                                                    F32(scale, 4), shift})));
  }
  builder_.Store(fold_, ir::Int(0), FoldScores(ScalarOp::kAdd));
  for (int h = 0; h < 2; ++h) {
    const ExprRef at = ir::Int(h), part = pair(ScalarOp::kAdd, h);
    builder_.Set(sum_, at,
                 first_scores ? part
                              : ir::MakeApply(ScalarOp::kFma, {builder_.Get(sum_, at),
                                                               builder_.Get(factor_, at), part}));
  }
}

void RoleSoftmax::PutWeights() {
  for (int n = 0; n < plan_.score_tiles(); ++n) {
    builder_.Set(weights_, ir::Int(n), ir::MakeCast(plan_.data, builder_.Get(scores_, ir::Int(n))));
  }
}

void RoleSoftmax::ScaleOutput() {
  const ExprRef by = Spread(factor_);
  builder_.Unrolled("e", plan_.output_tiles(), [&](const ExprRef& e) {
    builder_.Set(output_, e, Do(ScalarOp::kMul, builder_.Get(output_, e), by));
  });
}

void RoleSoftmax::AddUp() {
  ShareRows(ScalarOp::kAdd, sum_);
  for (int h = 0; h < 2; ++h) {
    builder_.Set(factor_, ir::Int(h), Do(ScalarOp::kDiv, F32(1), builder_.Get(sum_, ir::Int(h))));
  }
}

}  // namespace mlc::schedule::gpu
