#include "compiler/schedule/cuda/row_reduce/row_group.h"

#include <algorithm>
#include <limits>

#include "compiler/schedule/cuda/tile/gpu_launch.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;

namespace {

constexpr int kWarp = 32;
// Statistics of one kernel: each has warp totals of its own, so that one barrier serves.
constexpr int kRounds = 2;

}  // namespace

ExprRef NeutralOf(ScalarOp op, DType dtype, int lanes) {
  const bool extreme = op == ScalarOp::kMax || op == ScalarOp::kMin;
  const bool max = op == ScalarOp::kMax;
  if (IsFloat(dtype)) {
    const double inf = std::numeric_limits<double>::infinity();
    return ir::Float(dtype, extreme ? (max ? -inf : inf) : op == ScalarOp::kMul ? 1 : 0, lanes);
  }
  const bool is_signed = !IsUnsigned(dtype);
  const int bits = SizeOf(dtype) * 8 - (is_signed ? 1 : 0);
  const int64_t top = bits == 64   ? -1  // its bits
                      : bits == 63 ? std::numeric_limits<int64_t>::max()
                                   : (int64_t{1} << bits) - 1;
  const int64_t bottom = is_signed ? -top - 1 : 0;
  const int64_t value = extreme ? (max ? bottom : top) : op == ScalarOp::kMul ? 1 : 0;
  return Widened(std::make_shared<const ir::Expr>(ir::Expr{{dtype, 1}, ir::IntImm{value}}), lanes);
}

RowGroup::RowGroup(ir::KernelBuilder& builder, const RowPlan& plan)
    : builder_(builder), plan_(plan) {
  const DType dtype = plan.problem.dtype;
  shuffles_ = plan.problem.inner && (dtype == DType::kF32 || dtype == DType::kI32);
  if (plan.group == 1) return;
  if (!shuffles_) {
    const int lanes = plan.problem.inner ? 1 : plan.lanes;
    memory_ = builder.SharedMemory("parts", dtype, int64_t{plan.threads} * lanes);
  } else if (plan.group > kWarp) {
    memory_ = builder.SharedMemory("parts", dtype, int64_t{kRounds} * plan.threads / kWarp);
  }
}

void RowGroup::SetThread(const ExprRef& thread) {
  thread_ = thread;
  const int64_t group = plan_.group;
  if (plan_.problem.inner) {
    item_ = builder_.Let("gi", ir::FloorDiv(thread, group));
    lane_ = builder_.Let("lane", ir::Mod(thread, group));
  } else {
    // Neighbouring threads take neighbouring columns.
    item_ = builder_.Let("gi", ir::Mod(thread, int64_t{plan_.items_per_block()}));
    lane_ = builder_.Let("lane", ir::FloorDiv(thread, int64_t{plan_.items_per_block()}));
  }
}

void RowGroup::Combine(ScalarOp op, ir::BufferId value) {
  if (plan_.group == 1) return;
  if (!shuffles_) return ThroughMemory(op, value);
  Shuffle(op, value);
  if (plan_.group > kWarp) AcrossWarps(op, value);
}

void RowGroup::Shuffle(ScalarOp op, ir::BufferId value) {
  const ExprRef zero = ir::Int(0);
  for (int mask = std::min(plan_.group, kWarp) / 2; mask > 0; mask /= 2) {
    const ExprRef other = ir::MakeShuffleXor(builder_.Get(value, zero), mask);
    builder_.Set(value, zero, Do(op, builder_.Get(value, zero), other));
  }
}

void RowGroup::AcrossWarps(ScalarOp op, ir::BufferId value) {
  const ExprRef zero = ir::Int(0);
  if (round_ == kRounds) {
    builder_.Barrier();
    round_ = 0;
  }
  const int64_t base = int64_t{round_++} * (plan_.threads / kWarp);
  const int64_t warps = plan_.group / kWarp;
  builder_.If(Do(ScalarOp::kEqual, ir::Mod(thread_, kWarp), zero), [&] {
    builder_.Store(memory_, ir::FloorDiv(thread_, kWarp) + base, builder_.Get(value, zero));
  });
  builder_.Barrier();
  builder_.Set(value, zero, builder_.Load(memory_, item_ * warps + base));
  builder_.Unrolled("w", warps - 1, [&](const ExprRef& w) {
    builder_.Set(
        value, zero,
        Do(op, builder_.Get(value, zero), builder_.Load(memory_, item_ * warps + w + (base + 1))));
  });
}

void RowGroup::ThroughMemory(ScalarOp op, ir::BufferId value) {
  const ExprRef zero = ir::Int(0);
  const bool inner = plan_.problem.inner;
  const int lanes = inner ? 1 : plan_.lanes;
  const int64_t items = plan_.items_per_block();
  const auto slot = [&](const ExprRef& lane) {
    return (inner ? item_ * int64_t{plan_.group} + lane : lane * items + item_) * int64_t{lanes};
  };
  if (round_++ > 0) builder_.Barrier();
  builder_.Store(memory_, slot(lane_), builder_.Get(value, zero));
  builder_.Barrier();
  builder_.Set(value, zero, builder_.Load(memory_, slot(zero), lanes));
  builder_.For("w", zero + 1, ir::Int(plan_.group), 1, [&](const ExprRef& w) {
    builder_.Set(value, zero,
                 Do(op, builder_.Get(value, zero), builder_.Load(memory_, slot(w), lanes)));
  });
}

}  // namespace mlc::schedule::gpu
