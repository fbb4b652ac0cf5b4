// Expressions of the GPU interpreter.
#include <algorithm>

#include "compiler/ir/interpret/gpu_machine.h"

namespace mlc::ir {

namespace {

Lane FromInt(int64_t value) {
  Lane lane;
  lane.i = value;
  return lane;
}

}  // namespace

void GpuMachine::Eval(const Expr& e, Lane* out) {
  std::visit([&](const auto& node) { Node(e.type, node, out); }, e.node);
}

void GpuMachine::Node(const Type&, const IntImm& constant, Lane* out) {
  std::fill_n(out, Count(), FromInt(constant.value));
}

void GpuMachine::Node(const Type&, const FloatImm& constant, Lane* out) {
  Lane value;
  value.f = constant.value;
  std::fill_n(out, Count(), value);
}

void GpuMachine::Node(const Type&, const VarRef& ref, Lane* out) {
  const int64_t* var = VarOf(ref.var);
  for (size_t i = 0; i < Count(); ++i) out[i].i = var[active_[i]];
}

Lane* GpuMachine::EvalMask(const ExprRef& mask, LaneStack::Frame& frame) {
  if (mask == nullptr) return nullptr;
  Lane* values = frame.Take(Count());
  Eval(*mask, values);
  return values;
}

int GpuMachine::ActiveLanes(const Lane* mask, size_t at, int lanes) {
  if (mask == nullptr) return lanes;
  return static_cast<int>(std::clamp<int64_t>(mask[at].i, 0, lanes));
}

void GpuMachine::Node(const Type& type, const Load& load, Lane* out) {
  LaneStack::Frame frame(stack_);
  Lane* index = frame.Take(Count());
  Eval(*load.index, index);
  const Lane* mask = EvalMask(load.mask, frame);
  const auto lanes = static_cast<size_t>(type.lanes);
  // All bits zero is zero of every type.
  if (mask != nullptr || failed_) std::fill_n(out, Count() * lanes, FromInt(0));
  if (failed_) return;
  GpuPrivate* own = PrivateOf(load.buffer);
  if (own != nullptr && own->buffer().scope == Scope::kRegister) {
    for (size_t i = 0; i < Count(); ++i) {
      if (!ReadPrivate(*own, index[i].i, active_[i], out + i * lanes)) return;
    }
    return;
  }
  for (size_t i = 0; i < Count(); ++i) {
    const int count = ActiveLanes(mask, i, type.lanes);
    Lane* values = out + i * lanes;
    if (own != nullptr) {
      for (int lane = 0; lane < count; ++lane) {
        const auto at = static_cast<uint64_t>(index[i].i) +
                        static_cast<uint64_t>(lane) * static_cast<uint64_t>(load.stride);
        if (!ReadPrivate(*own, static_cast<int64_t>(at), active_[i], values + lane)) return;
      }
      continue;
    }
    GpuMemory& memory = MemoryOf(load.buffer);
    int64_t bad = 0;
    const GpuFault fault = memory.Read(index[i].i, load.stride, count, active_[i], values, &bad);
    if (fault != GpuFault::kNone) {
      return FailAccess(fault, "reads", memory.buffer(), bad, active_[i]);
    }
  }
}

void GpuMachine::Node(const Type& type, const Apply& apply, Lane* out) {
  LaneStack::Frame frame(stack_);
  const auto lanes = static_cast<size_t>(type.lanes);
  const Lane* args[3] = {};
  for (size_t i = 0; i < apply.args.size(); ++i) {
    Lane* values = i == 0 ? out : frame.Take(Count() * lanes);
    Eval(*apply.args[i], values);
    args[i] = values;
  }
  if (failed_) return;
  // The type that decides the arithmetic; kSelect's first operand is a condition.
  const DType dtype = apply.args.back()->type.dtype;
  const int64_t bad = ApplyLanes(apply.op, dtype, Count() * lanes, args, out);
  if (bad >= 0) {
    Fail(StatusCode::kOutOfRange, "divides by zero", active_[static_cast<size_t>(bad) / lanes]);
  }
}

void GpuMachine::Node(const Type& type, const Cast& cast, Lane* out) {
  Eval(*cast.value, out);
  const DType from = cast.value->type.dtype;
  const size_t count = Count() * static_cast<size_t>(type.lanes);
  for (size_t i = 0; i < count; ++i) out[i] = CastLane(from, type.dtype, out[i]);
}

void GpuMachine::Node(const Type& type, const Broadcast& broadcast, Lane* out) {
  LaneStack::Frame frame(stack_);
  Lane* values = frame.Take(Count());
  Eval(*broadcast.value, values);
  for (size_t i = 0; i < Count(); ++i) out = std::fill_n(out, type.lanes, values[i]);
}

void GpuMachine::Node(const Type& type, const ReduceLanes& reduce, Lane* out) {
  LaneStack::Frame frame(stack_);
  const auto lanes = static_cast<size_t>(reduce.value->type.lanes);
  Lane* values = frame.Take(Count() * lanes);
  Eval(*reduce.value, values);
  if (failed_) return;
  for (size_t i = 0; i < Count(); ++i) {
    Lane args[2] = {values[i * lanes], {}};
    for (size_t lane = 1; lane < lanes; ++lane) {
      args[1] = values[i * lanes + lane];
      ApplyLane(reduce.op, type.dtype, args, &args[0]);
    }
    out[i] = args[0];
  }
}

void GpuMachine::Node(const Type& type, const LaneMask& mask, Lane* out) {
  LaneStack::Frame frame(stack_);
  Lane* values = frame.Take(Count());
  Eval(*mask.active, values);
  for (size_t i = 0; i < Count(); ++i) {
    for (int64_t lane = 0; lane < type.lanes; ++lane) *out++ = FromInt(lane < values[i].i);
  }
}

void GpuMachine::Node(const Type& type, const LaneIndex&, Lane* out) {
  for (size_t i = 0; i < Count(); ++i) {
    for (int64_t lane = 0; lane < type.lanes; ++lane) {
      *out++ = CastLane(DType::kI64, type.dtype, FromInt(lane));
    }
  }
}

void GpuMachine::Node(const Type&, const ShuffleXor& shuffle, Lane* out) {
  LaneStack::Frame frame(stack_);
  Lane* values = frame.Take(Count());
  Eval(*shuffle.value, values);
  if (failed_ || !AllOfWarps("shuffle_xor")) return;
  // Whole warps: threads of one stand side by side, from a multiple of 32.
  const auto mask = static_cast<size_t>(shuffle.lane_mask);
  for (size_t i = 0; i < Count(); ++i) out[i] = values[i ^ mask];
}

}  // namespace mlc::ir
