#include "compiler/schedule/fusion/fused.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "base/check.h"

namespace mlc::schedule {

using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;
using ir::ExprRef;

namespace {

// Declares a parameter for each operand but those in `without`.
OperandBuffers DeclareOperands(const graph::Workload& workload, ir::KernelBuilder& builder,
                               const std::vector<int>& without, std::vector<Binding>& bindings) {
  OperandBuffers operands;
  for (size_t i = 0; i < workload.operands().size(); ++i) {
    const int operand = static_cast<int>(i);
    operands.numbers[workload.operands()[i]] = operand;
    if (std::find(without.begin(), without.end(), operand) != without.end()) continue;
    const TensorType& type = workload.graph()[workload.operands()[i]].type;
    operands.buffers[operand] = builder.In("x", type.dtype, type.Extent());
    bindings.push_back({Binding::Kind::kOperand, operand});
  }
  return operands;
}

OperandBuffers OperandsOf(const graph::Workload& part, const Fused& whole,
                          const std::vector<int>& operands) {
  OperandBuffers own;
  for (size_t i = 0; i < part.operands().size(); ++i) {
    own.numbers[part.operands()[i]] = static_cast<int>(i);
    own.buffers[static_cast<int>(i)] = whole.OperandBuffer(operands[i]);
  }
  return own;
}

}  // namespace

Fused::Fused(const graph::Workload& workload, ir::KernelBuilder& builder,
             const std::vector<int>& without)
    : workload_(workload),
      builder_(builder),
      values_(workload, builder, DeclareOperands(workload, builder, without, bindings_)) {
  for (size_t i = 0; i < workload.outputs().size(); ++i) {
    const TensorType& type = workload.graph()[workload.outputs()[i]].type;
    outputs_.push_back(builder.Out("y", type.dtype, type.Extent()));
    bindings_.push_back({Binding::Kind::kOutput, static_cast<int>(i)});
  }
  output_offsets_.assign(outputs_.size(), 0);
}

Fused::Fused(const graph::Workload& part, ir::KernelBuilder& builder, const Fused& whole,
             const std::vector<int>& operands, const std::vector<int>& outputs,
             std::vector<int64_t> offsets)
    : workload_(part),
      builder_(builder),
      values_(part, builder, OperandsOf(part, whole, operands)),
      output_offsets_(std::move(offsets)) {
  for (int output : outputs) outputs_.push_back(whole.OutputBuffer(output));
}

ExprRef Fused::Offset(const TensorType& type, std::span<const ExprRef> at) const {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  ExprRef offset = ir::Int(0);
  for (size_t d = 0; d < strides.size(); ++d) {
    if (type.dims[d] != 1) offset = offset + at[d] * strides[d];
  }
  return offset;
}

ExprRef Fused::TryEmit(ValueId value, const Point& point, const FusedValues::Bound& bound) {
  values_.Begin(bound);
  ExprRef result = values_.ValueAt(value, PlaceOf(workload_.graph()[value].type, point));
  values_.End();
  if (result && result->type.lanes != point.lanes) result = ir::MakeBroadcast(result, point.lanes);
  return result;
}

ExprRef Fused::Emit(ValueId value, const Point& point, const FusedValues::Bound& bound) {
  ExprRef result = TryEmit(value, point, bound);
  MLC_CHECK(result) << "value " << value << " cannot be emitted at a vector point";
  return result;
}

void Fused::Store(int output, const Point& point, ExprRef value, bool streaming) {
  const TensorType& type = workload_.graph()[workload_.outputs()[static_cast<size_t>(output)]].type;
  const std::vector<int64_t> strides = type.EffectiveStrides();
  const bool along = point.lanes > 1 && type.dims[static_cast<size_t>(point.dim)] != 1;
  const int lanes = along ? point.lanes : 1;
  const int64_t stride = along ? strides[static_cast<size_t>(point.dim)] : 1;
  if (value->type.lanes != lanes) value = ir::MakeBroadcast(value, lanes);
  const ExprRef offset = Offset(type, point.at) + output_offsets_[static_cast<size_t>(output)];
  builder_.Store(OutputBuffer(output), offset, CastTo(type.dtype, value), stride,
                 along ? point.active : nullptr, streaming && stride == 1 && !point.active);
}

void Fused::StoreOutputs(const Point& point, const FusedValues::Bound& bound, bool streaming) {
  std::vector<ValueId> anchors;
  for (const auto& [id, expr] : bound) {
    // An operand that is given is a single number, the same at every point.
    const Op op = workload_.graph()[id].op;
    if (op != Op::kInput && op != Op::kWeight) anchors.push_back(id);
  }
  const RegisterPool::Used used_before = values_.registers().used();
  values_.Begin(bound);
  std::map<std::vector<int64_t>, PlaceRef> places;
  for (size_t i = 0; i < workload_.outputs().size(); ++i) {
    const ValueId id = workload_.outputs()[i];
    if (!Covers(workload_, id, anchors)) continue;
    const TensorType& type = workload_.graph()[id].type;
    PlaceRef& place = places[type.dims];
    if (!place) place = PlaceOf(type, point);
    ExprRef value = values_.ValueAt(id, place);
    MLC_CHECK(value) << "output " << i << " cannot be emitted at a vector point";
    Store(static_cast<int>(i), point, value, streaming);
  }
  values_.End();
  values_.registers().ReturnTo(used_before);
}

namespace {

bool IsMovement(Op op) {
  switch (op) {
    case Op::kTranspose:
    case Op::kReshape:
    case Op::kExpand:
    case Op::kSlice:
    case Op::kConcat:
    case Op::kPad:
    case Op::kGather:
    case Op::kGatherElements:
    case Op::kGatherND:
    case Op::kResize:
    case Op::kTile:
    case Op::kTrilu:
    case Op::kView:
      return true;
    default:
      return false;
  }
}

bool MovesEmittably(const Value& node) {
  if (node.op == Op::kResize) {
    const std::string& mode = node.Word("mode");
    return (mode == "nearest" || mode == "linear") &&
           node.Word("coordinate_mode") != "tf_crop_and_resize";
  }
  return IsMovement(node.op);
}

// Whether a node can be emitted once its operands can.
bool IsEmittable(const Value& node) {
  switch (node.op) {
    case Op::kInput:
    case Op::kWeight:
    case Op::kPointwise:
    case Op::kCast:
    case Op::kCopy:
      return true;
    case Op::kConstant:
      return !node.data;
    default:
      return MovesEmittably(node);
  }
}

}  // namespace

bool Fused::Covers(const graph::Workload& workload, ValueId value,
                   std::span<const ValueId> anchors) {
  // Exact: still at the anchors' own point. What holds away from it holds at it.
  enum Reached : uint8_t { kNot, kExactly, kMoved };
  const graph::Graph& graph = workload.graph();
  std::vector<Reached> reached(static_cast<size_t>(graph.size()), kNot);
  std::vector<std::pair<ValueId, Reached>> stack = {{value, kExactly}};
  while (!stack.empty()) {
    const auto [id, how] = stack.back();
    stack.pop_back();
    if (std::find(anchors.begin(), anchors.end(), id) != anchors.end()) {
      if (how != kExactly) return false;
      continue;
    }
    Reached& before = reached[static_cast<size_t>(id)];
    if (before >= how) continue;
    before = how;
    const Value& node = graph[id];
    if (!IsEmittable(node)) return false;
    const bool same = how == kExactly &&
                      (node.op == Op::kPointwise || node.op == Op::kCast || node.op == Op::kCopy);
    for (ValueId operand : node.operands) {
      if (operand == graph::kNoValue) continue;
      const bool still = same && graph[operand].type.dims == node.type.dims;
      stack.emplace_back(operand, still ? kExactly : kMoved);
    }
  }
  return true;
}

bool Fused::Vectorises(const graph::Workload& workload, ValueId value, int dim, int lanes,
                       std::span<const ValueId> anchors) {
  if (!Covers(workload, value, anchors)) return false;
  ir::KernelBuilder probe("probe");
  Fused fused(workload, probe);
  bool possible = false;
  probe.Parallel("p", int64_t{1} << 20, [&](const ExprRef& p) {
    const TensorType& type = workload.graph()[value].type;
    Point point;
    for (int d = 0; d < type.rank(); ++d) point.at.push_back(d == dim ? p * lanes : p);
    point.dim = dim;
    point.lanes = lanes;
    FusedValues::Bound bound;
    for (ValueId anchor : anchors) {
      const DType dtype = ComputeType(workload.graph()[anchor].type.dtype);
      bound[anchor] = probe.Get(fused.values_.registers().Next(dtype, lanes), ir::Int(0));
    }
    possible = fused.TryEmit(value, point, bound) != nullptr;
  });
  return possible;
}

}  // namespace mlc::schedule
