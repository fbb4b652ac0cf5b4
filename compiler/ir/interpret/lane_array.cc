#include "compiler/ir/interpret/lane_array.h"

#include <algorithm>
#include <cmath>

namespace mlc::ir {

namespace {

constexpr size_t kChunkLanes = size_t{1} << 16;

template <typename Function>
int64_t Each(size_t count, Lane* out, const Function& function) {
  for (size_t i = 0; i < count; ++i) out[i] = function(i);
  return -1;
}

Lane FromInt(int64_t value) {
  Lane lane;
  lane.i = value;
  return lane;
}
Lane FromUnsigned(uint64_t value) { return FromInt(static_cast<int64_t>(value)); }
Lane FromFloat(float value) {
  Lane lane;
  lane.f = static_cast<double>(value);
  return lane;
}
uint64_t Bits(Lane lane) { return static_cast<uint64_t>(lane.i); }
float Single(Lane lane) { return static_cast<float>(lane.f); }

int64_t General(ScalarOp op, DType dtype, size_t count, const Lane* const* args, Lane* out) {
  const auto arity = static_cast<size_t>(InfoOf(op).arity);
  Lane one[3];
  for (size_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < arity; ++k) one[k] = args[k][i];
    if (!ApplyLane(op, dtype, one, &out[i])) return static_cast<int64_t>(i);
  }
  return -1;
}

// The common index operators, without a decision per lane.
int64_t ApplyIndex(ScalarOp op, size_t count, const Lane* const* args, Lane* out) {
  const Lane* a = args[0];
  const Lane* b = args[1];
  switch (op) {
    case ScalarOp::kAdd:
      return Each(count, out, [&](size_t i) { return FromUnsigned(Bits(a[i]) + Bits(b[i])); });
    case ScalarOp::kSub:
      return Each(count, out, [&](size_t i) { return FromUnsigned(Bits(a[i]) - Bits(b[i])); });
    case ScalarOp::kMul:
      return Each(count, out, [&](size_t i) { return FromUnsigned(Bits(a[i]) * Bits(b[i])); });
    case ScalarOp::kLess:
      return Each(count, out, [&](size_t i) { return FromInt(a[i].i < b[i].i); });
    case ScalarOp::kLessEqual:
      return Each(count, out, [&](size_t i) { return FromInt(a[i].i <= b[i].i); });
    case ScalarOp::kEqual:
      return Each(count, out, [&](size_t i) { return FromInt(a[i].i == b[i].i); });
    case ScalarOp::kMax:
      return Each(count, out, [&](size_t i) { return FromInt(std::max(a[i].i, b[i].i)); });
    case ScalarOp::kMin:
      return Each(count, out, [&](size_t i) { return FromInt(std::min(a[i].i, b[i].i)); });
    default:
      return General(op, DType::kI64, count, args, out);
  }
}

int64_t ApplySingle(ScalarOp op, size_t count, const Lane* const* args, Lane* out) {
  const Lane* a = args[0];
  const Lane* b = args[1];
  switch (op) {
    case ScalarOp::kAdd:
      return Each(count, out, [&](size_t i) { return FromFloat(Single(a[i]) + Single(b[i])); });
    case ScalarOp::kSub:
      return Each(count, out, [&](size_t i) { return FromFloat(Single(a[i]) - Single(b[i])); });
    case ScalarOp::kMul:
      return Each(count, out, [&](size_t i) { return FromFloat(Single(a[i]) * Single(b[i])); });
    case ScalarOp::kFma: {
      const Lane* c = args[2];
      return Each(count, out, [&](size_t i) {
        return FromFloat(std::fma(Single(a[i]), Single(b[i]), Single(c[i])));
      });
    }
    default:
      return General(op, DType::kF32, count, args, out);
  }
}

}  // namespace

int64_t ApplyLanes(ScalarOp op, DType dtype, size_t count, const Lane* const* args, Lane* out) {
  if (op == ScalarOp::kSelect || InfoOf(op).arity < 2) return General(op, dtype, count, args, out);
  if (dtype == DType::kI64) return ApplyIndex(op, count, args, out);
  if (dtype == DType::kF32) return ApplySingle(op, count, args, out);
  return General(op, dtype, count, args, out);
}

Lane* LaneStack::Take(size_t count) {
  for (; chunk_ < chunks_.size(); ++chunk_, used_ = 0) {
    if (used_ + count > chunks_[chunk_].size) continue;
    Lane* taken = chunks_[chunk_].lanes.get() + used_;
    used_ += count;
    return taken;
  }
  const size_t size = std::max(count, kChunkLanes);
  chunks_.push_back({std::make_unique<Lane[]>(size), size});
  used_ = count;
  return chunks_[chunk_].lanes.get();
}

}  // namespace mlc::ir
