#include "compiler/schedule/cuda/attention/attention_fragments.h"

#include "compiler/schedule/cuda/tensor/tensor_plan.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

namespace {

const ExprRef kFirst = ir::Int(0);

}  // namespace

AttentionFragments::AttentionFragments(ir::KernelBuilder& builder, const AttentionPlan& plan,
                                       ir::BufferId q, ir::BufferId k, ir::BufferId v)
    : builder_(builder), plan_(plan), q_(q), k_(k), v_(v) {
  scores_ = builder.Registers("s", DType::kF32, 4, score_tiles());
  output_ = builder.Registers("o", DType::kF32, 4, output_tiles());
  fold_ = builder.Thread("fold", DType::kF32, 4);
  if (plan.data != DType::kF32) {
    queries_ = builder.Registers("q", plan.data, 8, plan.depth() / 16);
    a_ = builder.Registers("a", plan.data, 8, 1);
    b_ = builder.Registers("b", plan.data, 8, 1);
    weights_ = builder.Thread("p", plan.data, plan.key_block * 4 / 8);
    return;
  }
  a_ = builder.Registers("a", DType::kF32, 4, 1);
  b_ = builder.Registers("b", DType::kF32, 2, 1);
  a_high_ = builder.Registers("ah", DType::kF32, 4, 1);
  b_high_ = builder.Registers("bh", DType::kF32, 2, 1);
  if (plan.passes == 1) return;
  a_low_ = builder.Registers("al", DType::kF32, 4, 1);
  b_low_ = builder.Registers("bl", DType::kF32, 2, 1);
  step_ = builder.Registers("part", DType::kF32, 4, 1);
}

void AttentionFragments::Begin(const ExprRef& lane, const ExprRef& first_row) {
  const int64_t depth = plan_.pitch(plan_.depth()), width = plan_.pitch(plan_.slice());
  group_ = builder_.Let("g", ir::FloorDiv(lane, 4));
  quad_ = builder_.Let("t", ir::Mod(lane, 4));
  pair_ = builder_.Let("c", quad_ * 2);
  if (plan_.data == DType::kF32) {
    const ExprRef r = builder_.Let("r8", ir::Mod(lane, 8));
    const ExprRef next = builder_.Let("m1", ir::Mod(ir::FloorDiv(lane, 8), 2));
    q_at_ = builder_.Let(
        "qa", (first_row + next * 8 + r) * depth + builder_.Let("m2", ir::FloorDiv(lane, 16) * 4));
    k_at_ = builder_.Let("ka", r * depth + next * 4);
    // Products add keys in any order: step t takes keys 2t and 2t + 1, as the scores lie.
    v_at_ = builder_.Let("va", pair_ * width + group_);
    return;
  }
  const ExprRef r = builder_.Let("r8", ir::Mod(lane, 8));
  const ExprRef low = builder_.Let("m1", ir::Mod(ir::FloorDiv(lane, 8), 2) * 8);
  const ExprRef high = builder_.Let("m2", ir::FloorDiv(lane, 16) * 8);
  q_at_ = builder_.Let("qa", (first_row + low + r) * depth + high);
  k_at_ = builder_.Let("ka", (high + r) * depth + low);
  v_at_ = builder_.Let("va", (low + r) * width + high);
}

void AttentionFragments::LoadQueries() {
  if (plan_.data == DType::kF32) return;
  builder_.Unrolled("d", plan_.depth() / 16, [&](const ExprRef& d) {
    builder_.LoadMatrix(queries_, d, q_, q_at_ + d * 16);
  });
}

void AttentionFragments::Scores(const ExprRef& keys) {
  builder_.Unrolled("n", score_tiles(), [&](const ExprRef& n) {
    builder_.Set(scores_, n, ir::Float(DType::kF32, 0, 4));
  });
  plan_.data == DType::kF32 ? WideScores(keys) : NarrowScores(keys);
}

void AttentionFragments::Output(const ExprRef& values) {
  plan_.data == DType::kF32 ? WideOutput(values) : NarrowOutput(values);
}

void AttentionFragments::NarrowScores(const ExprRef& keys) {
  const int64_t pitch = plan_.pitch(plan_.depth());
  builder_.Unrolled("d", plan_.depth() / 16, [&](const ExprRef& d) {
    builder_.Unrolled("n", score_tiles() / 2, [&](const ExprRef& n) {
      builder_.LoadMatrix(b_, kFirst, k_, keys + k_at_ + n * (16 * pitch) + d * 16);
      builder_.Mma(scores_, n * 2, queries_, d, b_, kFirst, 0);
      builder_.Mma(scores_, n * 2 + 1, queries_, d, b_, kFirst, 1);
    });
  });
}

void AttentionFragments::NarrowOutput(const ExprRef& values) {
  const int64_t pitch = plan_.pitch(plan_.slice());
  builder_.Unrolled("n", score_tiles(), [&](const ExprRef& n) {
    builder_.Store(weights_, n * 4, ir::MakeCast(plan_.data, builder_.Get(scores_, n)));
  });
  builder_.Unrolled("k", score_tiles() / 2, [&](const ExprRef& k) {
    builder_.Set(a_, kFirst, builder_.Load(weights_, k * 8, 8));
    builder_.Unrolled("e", output_tiles() / 2, [&](const ExprRef& e) {
      builder_.LoadMatrix(b_, kFirst, v_, values + v_at_ + k * (16 * pitch) + e * 16, true);
      builder_.Mma(output_, e * 2, a_, kFirst, b_, kFirst, 0);
      builder_.Mma(output_, e * 2 + 1, a_, kFirst, b_, kFirst, 1);
    });
  });
}

void AttentionFragments::Split(ir::BufferId raw, ir::BufferId high, ir::BufferId low) {
  const ExprRef value = builder_.Get(raw, kFirst);
  if (plan_.passes == 1) {
    const ExprRef scale = ir::Float(DType::kF32, kRoundUpForTf32, value->type.lanes);
    return builder_.Set(high, kFirst, Do(ScalarOp::kMul, value, scale));
  }
  builder_.Set(high, kFirst, Do(ScalarOp::kRoundTf32, value));
  // At most 12 bits: that the unit drops the last is as good as rounding.
  builder_.Set(low, kFirst, Do(ScalarOp::kSub, value, builder_.Get(high, kFirst)));
}

void AttentionFragments::Multiply(ir::BufferId c, const ExprRef& index) {
  if (plan_.passes == 1) return builder_.Mma(c, index, a_high_, kFirst, b_high_, kFirst);
  // The unit truncates its sums: those of one step stay short, and the total is rounded.
  builder_.Set(step_, kFirst, ir::Float(DType::kF32, 0, 4));
  builder_.Mma(step_, kFirst, a_low_, kFirst, b_high_, kFirst);
  builder_.Mma(step_, kFirst, a_high_, kFirst, b_low_, kFirst);
  builder_.Mma(step_, kFirst, a_high_, kFirst, b_high_, kFirst);
  builder_.Set(c, index, Do(ScalarOp::kAdd, builder_.Get(c, index), builder_.Get(step_, kFirst)));
}

void AttentionFragments::WideScores(const ExprRef& keys) {
  const int64_t pitch = plan_.pitch(plan_.depth());
  builder_.Unrolled("d", plan_.depth() / 8, [&](const ExprRef& d) {
    builder_.LoadMatrix(a_, kFirst, q_, q_at_ + d * 8);
    Split(a_, a_high_, a_low_);
    builder_.Unrolled("n", score_tiles(), [&](const ExprRef& n) {
      builder_.LoadMatrix(b_, kFirst, k_, keys + k_at_ + n * (8 * pitch) + d * 8);
      Split(b_, b_high_, b_low_);
      Multiply(scores_, n);
    });
  });
}

void AttentionFragments::WideOutput(const ExprRef& values) {
  const int64_t pitch = plan_.pitch(plan_.slice());
  builder_.Unrolled("k", score_tiles(), [&](const ExprRef& k) {
    builder_.Store(fold_, kFirst, builder_.Get(scores_, k));
    // Lanes 0 and 1 change places with the row below: key 2t first.
    const int order[] = {0, 2, 1, 3};
    std::vector<ExprRef> lanes;
    for (int i = 0; i < 4; ++i) {
      const ir::BufferId slot = builder_.Registers("lane", DType::kF32, 1, 1);
      builder_.Set(slot, kFirst, builder_.Load(fold_, ir::Int(order[i])));
      lanes.push_back(builder_.Get(slot, kFirst));
    }
    for (int i = 0; i < 4; ++i) builder_.Store(fold_, ir::Int(i), lanes[static_cast<size_t>(i)]);
    builder_.Set(a_, kFirst, builder_.Load(fold_, kFirst, 4));
    Split(a_, a_high_, a_low_);
    builder_.Unrolled("e", output_tiles(), [&](const ExprRef& e) {
      builder_.Set(b_, kFirst,
                   builder_.Load(v_, values + v_at_ + k * (8 * pitch) + e * 8, 2, pitch));
      Split(b_, b_high_, b_low_);
      Multiply(output_, e);
    });
  });
}

}  // namespace mlc::schedule::gpu
