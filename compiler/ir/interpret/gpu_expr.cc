#include "compiler/ir/interpret/gpu_expr.h"

#include <algorithm>

namespace mlc::ir {

namespace {

Lane FromInt(int64_t value) {
  Lane lane;
  lane.i = value;
  return lane;
}

}  // namespace

int ActiveLanes(const Lane* mask, size_t at, int lanes) {
  if (mask == nullptr) return lanes;
  return static_cast<int>(std::clamp<int64_t>(mask[at].i, 0, lanes));
}

void GpuExpressions::Eval(const Expr& e, Lane* out) {
  std::visit([&](const auto& node) { Node(e.type, node, out); }, e.node);
}

void GpuExpressions::Node(const Type&, const IntImm& constant, Lane* out) {
  std::fill_n(out, state_.Count(), FromInt(constant.value));
}

void GpuExpressions::Node(const Type&, const FloatImm& constant, Lane* out) {
  Lane value;
  value.f = constant.value;
  std::fill_n(out, state_.Count(), value);
}

void GpuExpressions::Node(const Type&, const VarRef& ref, Lane* out) {
  const int64_t* var = state_.VarOf(ref.var);
  for (size_t i = 0; i < state_.Count(); ++i) out[i].i = var[state_.active[i]];
}

Lane* GpuExpressions::EvalMask(const ExprRef& mask, LaneStack::Frame& frame) {
  if (mask == nullptr) return nullptr;
  Lane* values = frame.Take(state_.Count());
  Eval(*mask, values);
  return values;
}

void GpuExpressions::Node(const Type& type, const Load& load, Lane* out) {
  LaneStack::Frame frame(state_.stack);
  Lane* index = frame.Take(state_.Count());
  Eval(*load.index, index);
  const Lane* mask = EvalMask(load.mask, frame);
  const auto lanes = static_cast<size_t>(type.lanes);
  // All bits zero is zero of every type.
  if (mask != nullptr || state_.failed) std::fill_n(out, state_.Count() * lanes, FromInt(0));
  if (state_.failed) return;
  GpuPrivate* own = state_.PrivateOf(load.buffer);
  if (own != nullptr && own->buffer().scope == Scope::kRegister) {
    for (size_t i = 0; i < state_.Count(); ++i) {
      if (!state_.ReadPrivate(*own, index[i].i, state_.active[i], out + i * lanes)) return;
    }
    return;
  }
  for (size_t i = 0; i < state_.Count(); ++i) {
    const int count = ActiveLanes(mask, i, type.lanes);
    Lane* values = out + i * lanes;
    if (own != nullptr) {
      for (int lane = 0; lane < count; ++lane) {
        const auto at = static_cast<uint64_t>(index[i].i) +
                        static_cast<uint64_t>(lane) * static_cast<uint64_t>(load.stride);
        if (!state_.ReadPrivate(*own, static_cast<int64_t>(at), state_.active[i], values + lane))
          return;
      }
      continue;
    }
    GpuMemory& memory = state_.MemoryOf(load.buffer);
    int64_t bad = 0;
    const GpuFault fault =
        memory.Read(index[i].i, load.stride, count, state_.active[i], values, &bad);
    if (fault != GpuFault::kNone) {
      return state_.FailAccess(fault, "reads", memory.buffer(), bad, state_.active[i]);
    }
  }
}

void GpuExpressions::Node(const Type& type, const Apply& apply, Lane* out) {
  LaneStack::Frame frame(state_.stack);
  const auto lanes = static_cast<size_t>(type.lanes);
  const Lane* args[3] = {};
  for (size_t i = 0; i < apply.args.size(); ++i) {
    Lane* values = i == 0 ? out : frame.Take(state_.Count() * lanes);
    Eval(*apply.args[i], values);
    args[i] = values;
  }
  if (state_.failed) return;
  // The type that decides the arithmetic; kSelect's first operand is a condition.
  const DType dtype = apply.args.back()->type.dtype;
  const int64_t bad = ApplyLanes(apply.op, dtype, state_.Count() * lanes, args, out);
  if (bad >= 0) {
    state_.Fail(StatusCode::kOutOfRange, "divides by zero",
                state_.active[static_cast<size_t>(bad) / lanes]);
  }
}

void GpuExpressions::Node(const Type& type, const Cast& cast, Lane* out) {
  Eval(*cast.value, out);
  const DType from = cast.value->type.dtype;
  const size_t count = state_.Count() * static_cast<size_t>(type.lanes);
  for (size_t i = 0; i < count; ++i) out[i] = CastLane(from, type.dtype, out[i]);
}

void GpuExpressions::Node(const Type& type, const Broadcast& broadcast, Lane* out) {
  LaneStack::Frame frame(state_.stack);
  Lane* values = frame.Take(state_.Count());
  Eval(*broadcast.value, values);
  for (size_t i = 0; i < state_.Count(); ++i) out = std::fill_n(out, type.lanes, values[i]);
}

void GpuExpressions::Node(const Type& type, const ReduceLanes& reduce, Lane* out) {
  LaneStack::Frame frame(state_.stack);
  const auto lanes = static_cast<size_t>(reduce.value->type.lanes);
  Lane* values = frame.Take(state_.Count() * lanes);
  Eval(*reduce.value, values);
  if (state_.failed) return;
  for (size_t i = 0; i < state_.Count(); ++i) {
    Lane args[2] = {values[i * lanes], {}};
    for (size_t lane = 1; lane < lanes; ++lane) {
      args[1] = values[i * lanes + lane];
      ApplyLane(reduce.op, type.dtype, args, &args[0]);
    }
    out[i] = args[0];
  }
}

void GpuExpressions::Node(const Type& type, const LaneMask& mask, Lane* out) {
  LaneStack::Frame frame(state_.stack);
  Lane* values = frame.Take(state_.Count());
  Eval(*mask.active, values);
  for (size_t i = 0; i < state_.Count(); ++i) {
    for (int64_t lane = 0; lane < type.lanes; ++lane) *out++ = FromInt(lane < values[i].i);
  }
}

void GpuExpressions::Node(const Type& type, const LaneIndex&, Lane* out) {
  for (size_t i = 0; i < state_.Count(); ++i) {
    for (int64_t lane = 0; lane < type.lanes; ++lane) {
      *out++ = CastLane(DType::kI64, type.dtype, FromInt(lane));
    }
  }
}

void GpuExpressions::Node(const Type&, const ShuffleXor& shuffle, Lane* out) {
  LaneStack::Frame frame(state_.stack);
  Lane* values = frame.Take(state_.Count());
  Eval(*shuffle.value, values);
  if (state_.failed || !state_.AllOfWarps("shuffle_xor")) return;
  // Whole warps: threads of one stand side by side, from a multiple of 32.
  const auto mask = static_cast<size_t>(shuffle.lane_mask);
  for (size_t i = 0; i < state_.Count(); ++i) out[i] = values[i ^ mask];
}

}  // namespace mlc::ir
