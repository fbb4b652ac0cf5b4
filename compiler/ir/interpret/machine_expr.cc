// Expressions of the interpreter.
#include <algorithm>
#include <type_traits>

#include "compiler/ir/interpret/machine.h"
#include "compiler/ir/types.h"

namespace mlc::ir {

namespace {

Lane FromInt(int64_t value) {
  Lane lane;
  lane.i = value;
  return lane;
}

Lane FromFloat(double value) {
  Lane lane;
  lane.f = value;
  return lane;
}

// The type that decides an operator's arithmetic; kSelect's first operand is a condition.
DType OperandType(const Apply& apply) { return apply.args.back()->type.dtype; }

}  // namespace

Lane Machine::Scalar(const Expr& e) {
  return std::visit(
      [&](const auto& node) -> Lane {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, IntImm>) {
          return FromInt(node.value);
        } else if constexpr (std::is_same_v<Node, FloatImm>) {
          return FromFloat(node.value);
        } else if constexpr (std::is_same_v<Node, VarRef>) {
          return FromInt(vars_[static_cast<size_t>(node.var)]);
        } else if constexpr (std::is_same_v<Node, Cast>) {
          return CastLane(node.value->type.dtype, e.type.dtype, Scalar(*node.value));
        } else if constexpr (std::is_same_v<Node, Broadcast>) {
          return Scalar(*node.value);
        } else if constexpr (std::is_same_v<Node, LaneMask>) {
          return FromInt(Index(node.active) > 0);
        } else if constexpr (std::is_same_v<Node, LaneIndex>) {
          return IsFloat(e.type.dtype) ? FromFloat(0) : FromInt(0);
        } else {
          return ScalarNode(node);
        }
      },
      e.node);
}

Lane Machine::ScalarNode(const ShuffleXor&) {
  Fail(StatusCode::kInternal, "has a GPU expression");
  return FromInt(0);
}

Lane Machine::ScalarNode(const Load& load) {
  Lane value = FromInt(0);
  Memory& memory = memories_[static_cast<size_t>(load.buffer)];
  const int64_t index = Index(load.index);
  if (ActiveLanes(load.mask, 1) == 0 || failed_) return value;
  const Fault fault = memory.buffer().scope == Scope::kRegister
                          ? memory.ReadRegister(index, now_, &value)
                          : memory.Read(index, now_, base_, &value);
  if (fault != Fault::kNone) FailAccess(fault, "read", memory.buffer(), index);
  return value;
}

Lane Machine::ScalarNode(const Apply& apply) {
  Lane args[3];
  for (size_t i = 0; i < apply.args.size(); ++i) args[i] = Scalar(*apply.args[i]);
  Lane result = FromInt(0);
  if (!ApplyLane(apply.op, OperandType(apply), args, &result)) {
    Fail(StatusCode::kOutOfRange, "divides by zero");
  }
  return result;
}

Lane Machine::ScalarNode(const ReduceLanes& reduce) {
  Lane lanes[kMaxLanes];
  Vector(*reduce.value, lanes);
  Lane args[2] = {lanes[0], {}};
  for (int lane = 1; lane < reduce.value->type.lanes; ++lane) {
    args[1] = lanes[lane];
    ApplyLane(reduce.op, reduce.value->type.dtype, args, &args[0]);
  }
  return args[0];
}

void Machine::Vector(const Expr& e, Lane* out) {
  const int lanes = e.type.lanes;
  if (lanes == 1) {
    out[0] = Scalar(e);
  } else if (const Load* load = std::get_if<Load>(&e.node)) {
    VectorNode(e.type, *load, out);
  } else if (const Apply* apply = std::get_if<Apply>(&e.node)) {
    VectorNode(e.type, *apply, out);
  } else if (const Broadcast* broadcast = std::get_if<Broadcast>(&e.node)) {
    std::fill_n(out, lanes, Scalar(*broadcast->value));
  } else if (const Cast* cast = std::get_if<Cast>(&e.node)) {
    Vector(*cast->value, out);
    const DType from = cast->value->type.dtype;
    for (int lane = 0; lane < lanes; ++lane) out[lane] = CastLane(from, e.type.dtype, out[lane]);
  } else if (const LaneMask* mask = std::get_if<LaneMask>(&e.node)) {
    const int64_t active = Index(mask->active);
    for (int lane = 0; lane < lanes; ++lane) out[lane].i = lane < active;
  } else if (const ShuffleXor* shuffle = std::get_if<ShuffleXor>(&e.node)) {
    Lane from[kMaxLanes];
    Vector(*shuffle->value, from);
    for (int lane = 0; lane < lanes; ++lane) out[lane] = from[lane ^ shuffle->lane_mask];
  } else {  // LaneIndex: nothing else has more than one lane
    for (int lane = 0; lane < lanes; ++lane) {
      out[lane] = CastLane(DType::kI64, e.type.dtype, FromInt(lane));
    }
  }
}

void Machine::VectorNode(const Type& type, const Load& load, Lane* out) {
  Memory& memory = memories_[static_cast<size_t>(load.buffer)];
  const int64_t index = Index(load.index);
  const int active = ActiveLanes(load.mask, type.lanes);
  // All bits zero is zero of every type.
  std::fill_n(out, type.lanes, FromInt(0));
  if (failed_) return;
  if (memory.buffer().scope == Scope::kRegister) {
    const Fault fault = memory.ReadRegister(index, now_, out);
    if (fault != Fault::kNone) FailAccess(fault, "read", memory.buffer(), index);
    return;
  }
  for (int lane = 0; lane < active; ++lane) {
    const int64_t at = LaneAddress(index, lane, load.stride);
    const Fault fault = memory.Read(at, now_, base_, &out[lane]);
    if (fault != Fault::kNone) return FailAccess(fault, "read", memory.buffer(), at);
  }
}

void Machine::VectorNode(const Type& type, const Apply& apply, Lane* out) {
  Lane args[3][kMaxLanes];
  const size_t arity = apply.args.size();
  for (size_t i = 0; i < arity; ++i) Vector(*apply.args[i], args[i]);
  const DType dtype = OperandType(apply);
  Lane one[3];
  for (int lane = 0; lane < type.lanes; ++lane) {
    for (size_t i = 0; i < arity; ++i) one[i] = args[i][lane];
    if (!ApplyLane(apply.op, dtype, one, &out[lane])) {
      return Fail(StatusCode::kOutOfRange, "divides by zero");
    }
  }
}

}  // namespace mlc::ir
