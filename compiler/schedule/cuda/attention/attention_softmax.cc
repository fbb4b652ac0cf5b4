#include "compiler/schedule/cuda/attention/attention_softmax.h"

#include <limits>
#include <utility>

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ExprRef F32(double value) { return ir::Float(DType::kF32, value); }

// The value to subtract for a maximum: rows that are masked so far have none.
ExprRef Finite(const ExprRef& top) {
  return ir::MakeApply(ScalarOp::kSelect,
                       {Do(ScalarOp::kEqual, top, F32(-kInfinity)), F32(0), top});
}

}  // namespace

AttentionSoftmax::AttentionSoftmax(ir::KernelBuilder& builder, const AttentionPlan& plan,
                                   const AttentionFragments& fragments)
    : builder_(builder),
      plan_(plan),
      fragments_(fragments),
      top_(builder.Registers("top", DType::kF32, 1, 2)),
      sum_(builder.Registers("sum", DType::kF32, 1, 2)),
      next_(builder.Registers("next", DType::kF32, 1, 2)),
      factor_(builder.Registers("factor", DType::kF32, 1, 2)),
      spread_(builder.Registers("spread", DType::kF32, 4, 1)),
      scale_(builder.Registers("scale", DType::kF32, 4, 1)) {}

void AttentionSoftmax::Reset() {
  for (int h = 0; h < 2; ++h) {
    builder_.Set(top_, ir::Int(h), F32(-kInfinity));
    builder_.Set(sum_, ir::Int(h), F32(0));
  }
}

// next_[h] = op over the row's columns of `values` in this thread.
void AttentionSoftmax::FoldRows(ScalarOp op, ExprRef values) {
  const ir::BufferId fold = fragments_.fold();
  builder_.Store(fold, ir::Int(0), std::move(values));
  for (int h = 0; h < 2; ++h) {
    builder_.Set(
        next_, ir::Int(h),
        Do(op, builder_.Load(fold, ir::Int(2 * h)), builder_.Load(fold, ir::Int(2 * h + 1))));
  }
}

// next_[h] over the four threads of a row.
void AttentionSoftmax::ShareRows(ScalarOp op, ir::BufferId values) {
  for (int mask = 1; mask <= 2; ++mask) {
    for (int h = 0; h < 2; ++h) {
      const ExprRef mine = builder_.Get(values, ir::Int(h));
      builder_.Set(values, ir::Int(h), Do(op, mine, ir::MakeShuffleXor(mine, mask)));
    }
  }
}

// A value per row as the lanes of a fragment.
ExprRef AttentionSoftmax::Spread(ir::BufferId to, ir::BufferId values) {
  const ir::BufferId fold = fragments_.fold();
  for (int lane = 0; lane < 4; ++lane) {
    builder_.Store(fold, ir::Int(lane), builder_.Get(values, ir::Int(lane / 2)));
  }
  builder_.Set(to, ir::Int(0), builder_.Load(fold, ir::Int(0), 4));
  return builder_.Get(to, ir::Int(0));
}

void AttentionSoftmax::ScaleOutput(const ExprRef& by) {
  builder_.Unrolled("e", fragments_.output_tiles(), [&](const ExprRef& e) {
    builder_.Set(fragments_.output(), e,
                 Do(ScalarOp::kMul, builder_.Get(fragments_.output(), e), by));
  });
}

void AttentionSoftmax::Update() {
  const ir::BufferId s = fragments_.scores();
  ExprRef top = builder_.Get(s, ir::Int(0));
  for (int64_t n = 1; n < fragments_.score_tiles(); ++n) {
    builder_.Set(spread_, ir::Int(0), Do(ScalarOp::kMax, top, builder_.Get(s, ir::Int(n))));
    top = builder_.Get(spread_, ir::Int(0));
  }
  FoldRows(ScalarOp::kMax, top);
  ShareRows(ScalarOp::kMax, next_);
  const bool once = plan_.block_chunks() == 1 && plan_.chunk == plan_.key_block * plan_.key_warps;
  for (int h = 0; h < 2; ++h) {
    const ExprRef at = ir::Int(h);
    const ExprRef old = builder_.Get(top_, at);
    builder_.Set(next_, at, Do(ScalarOp::kMax, old, builder_.Get(next_, at)));
    const ExprRef now = Finite(builder_.Get(next_, at));
    if (!once) builder_.Set(factor_, at, Do(ScalarOp::kExp, Do(ScalarOp::kSub, old, now)));
    builder_.Set(top_, at, builder_.Get(next_, at));
    builder_.Set(next_, at, Finite(builder_.Get(top_, at)));
  }
  const ExprRef shift = Spread(spread_, next_);
  for (int64_t n = 0; n < fragments_.score_tiles(); ++n) {
    const ExprRef at = ir::Int(n);
    builder_.Set(s, at, Do(ScalarOp::kExp, Do(ScalarOp::kSub, builder_.Get(s, at), shift)));
  }
  ExprRef total = builder_.Get(s, ir::Int(0));
  for (int64_t n = 1; n < fragments_.score_tiles(); ++n) {
    builder_.Set(scale_, ir::Int(0), Do(ScalarOp::kAdd, total, builder_.Get(s, ir::Int(n))));
    total = builder_.Get(scale_, ir::Int(0));
  }
  FoldRows(ScalarOp::kAdd, total);
  for (int h = 0; h < 2; ++h) {
    const ExprRef at = ir::Int(h);
    const ExprRef part = builder_.Get(next_, at);
    builder_.Set(sum_, at,
                 once ? part
                      : ir::MakeApply(ScalarOp::kFma,
                                      {builder_.Get(sum_, at), builder_.Get(factor_, at), part}));
  }
  if (!once) ScaleOutput(Spread(scale_, factor_));
}

void AttentionSoftmax::AddUp() { ShareRows(ScalarOp::kAdd, sum_); }

void AttentionSoftmax::Normalize() {
  for (int h = 0; h < 2; ++h) {
    builder_.Set(factor_, ir::Int(h), Do(ScalarOp::kDiv, F32(1), builder_.Get(sum_, ir::Int(h))));
  }
  ScaleOutput(Spread(scale_, factor_));
}

void AttentionSoftmax::ShareStats(ir::BufferId stats, const ExprRef& mine) {
  builder_.If(Do(ScalarOp::kEqual, fragments_.pair(), ir::Int(0)), [&] {
    for (int h = 0; h < 2; ++h) {
      const ExprRef at = (mine + 8 * h) * 2;
      builder_.Store(stats, at, builder_.Get(top_, ir::Int(h)));
      builder_.Store(stats, at + 1, builder_.Get(sum_, ir::Int(h)));
    }
  });
  builder_.Barrier();
}

void AttentionSoftmax::NormalizeAcrossWarps(ir::BufferId stats, const ExprRef& first) {
  JoinStats(stats, first, true);
}

void AttentionSoftmax::ScaleAcrossWarps(ir::BufferId stats, const ExprRef& first) {
  JoinStats(stats, first, false);
}

ExprRef AttentionSoftmax::Maximum(int half) const { return builder_.Get(top_, ir::Int(half)); }
ExprRef AttentionSoftmax::Sum(int half) const { return builder_.Get(sum_, ir::Int(half)); }

void AttentionSoftmax::JoinStats(ir::BufferId stats, const ExprRef& first, bool divide) {
  const auto stat = [&](int64_t warp, int h, int which) {
    return builder_.Load(stats, (first + (warp * kQueryRows + 8 * h)) * 2 + which);
  };
  for (int h = 0; h < 2; ++h) {
    const ExprRef at = ir::Int(h);
    builder_.Set(next_, at, stat(0, h, 0));
    for (int64_t w = 1; w < plan_.key_warps; ++w) {
      builder_.Set(next_, at, Do(ScalarOp::kMax, builder_.Get(next_, at), stat(w, h, 0)));
    }
    const ExprRef own_top = builder_.Get(top_, at);
    if (!divide) {
      // The maximum of all as it is goes to the next level; the warp's own is needed once more.
      builder_.Set(factor_, at, own_top);
      builder_.Set(top_, at, builder_.Get(next_, at));
    }
    builder_.Set(next_, at, Finite(builder_.Get(next_, at)));
    builder_.Set(sum_, at, F32(0));
    for (int64_t w = 0; w < plan_.key_warps; ++w) {
      const ExprRef weight =
          Do(ScalarOp::kExp, Do(ScalarOp::kSub, stat(w, h, 0), builder_.Get(next_, at)));
      builder_.Set(sum_, at,
                   ir::MakeApply(ScalarOp::kFma, {weight, stat(w, h, 1), builder_.Get(sum_, at)}));
    }
    const ExprRef own_maximum = divide ? own_top : builder_.Get(factor_, at);
    const ExprRef own =
        Do(ScalarOp::kExp, Do(ScalarOp::kSub, own_maximum, builder_.Get(next_, at)));
    builder_.Set(factor_, at, divide ? Do(ScalarOp::kDiv, own, builder_.Get(sum_, at)) : own);
  }
  ScaleOutput(Spread(scale_, factor_));
}

}  // namespace mlc::schedule::gpu
