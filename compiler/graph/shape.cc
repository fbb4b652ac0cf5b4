#include "compiler/graph/shape.h"

#include <algorithm>

#include "base/text.h"
#include "compiler/graph/ops.h"
#include "compiler/graph/packed_matrix.h"

namespace mlc::graph {

using shape_internal::Types;

namespace shape_internal {

Status CheckAxis(int64_t axis, int rank) {
  if (axis >= 0 && axis < rank) return {};
  return InvalidArgument("axis " + std::to_string(axis) + " is outside a rank of " +
                         std::to_string(rank));
}

}  // namespace shape_internal

namespace {

constexpr size_t kMaxListAttr = 4096;

bool KindFits(const AttrInfo& info, const AttrValue& value) {
  switch (info.kind) {
    case AttrKind::kInt:
      return std::holds_alternative<int64_t>(value);
    case AttrKind::kFloat:
      return std::holds_alternative<double>(value);
    case AttrKind::kWord:
      return std::holds_alternative<std::string>(value);
    case AttrKind::kInts:
      return std::holds_alternative<std::vector<int64_t>>(value);
    case AttrKind::kFloats:
      return std::holds_alternative<std::vector<double>>(value);
  }
  return false;
}

bool WithinLimits(const AttrValue& value) {
  const auto small = [](int64_t v) { return v >= -kMaxElements && v <= kMaxElements; };
  if (const auto* number = std::get_if<int64_t>(&value)) return small(*number);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
    return list->size() <= kMaxListAttr && std::all_of(list->begin(), list->end(), small);
  }
  if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    return list->size() <= kMaxListAttr;
  }
  return true;
}

// Whether the operator computes with the elements of its operands, rather than move them.
bool Computes(const Value& node) {
  switch (node.op) {
    case Op::kPointwise:
      return node.scalar != ScalarOp::kSelect && node.scalar != ScalarOp::kEqual;
    case Op::kMatMul:
    case Op::kConv:
    case Op::kAttention:
    case Op::kPool:
    case Op::kReduce:
    case Op::kArg:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLayerNorm:
    case Op::kCumSum:
    case Op::kResize:
    case Op::kSuppress:
      return true;
    default:
      return false;
  }
}

Status CheckSmall(const Value& node, Types operands) {
  if (!Computes(node)) return {};
  const auto is_float8 = [](const TensorType* type) { return type && IsFloat8(type->dtype); };
  if (node.op == Op::kMatMul && is_float8(operands[0]) && is_float8(operands[1])) return {};
  for (const TensorType* const operand : operands) {
    if (operand == nullptr || !IsSmall(operand->dtype)) continue;
    return InvalidArgument("elements of type " + std::string(ToText(operand->dtype)) +
                           " are moved and converted only: cast them to another type");
  }
  return {};
}

Result<TensorType> InferPointwise(const Value& node, Types operands) {
  const ScalarOpInfo& info = InfoOf(node.scalar);
  if (static_cast<int>(operands.size()) != info.arity) {
    return InvalidArgument(std::string(info.name) + " takes " + std::to_string(info.arity) +
                           " operands");
  }
  TensorType type;
  const size_t first = node.scalar == ScalarOp::kSelect ? 1 : 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    type.dims = MLC_TRY(BroadcastDims(type.dims, operands[i]->dims));
    if (i >= first && operands[i]->dtype != operands[first]->dtype) {
      return InvalidArgument("operands have different element types");
    }
  }
  if (first == 1 && operands[0]->dtype != DType::kBool) {
    return InvalidArgument("a condition is bool");
  }
  if (info.operands == OperandTypes::kBits && IsFloat(operands[0]->dtype)) {
    return InvalidArgument("logic operators take bool or integers");
  }
  if (info.operands == OperandTypes::kWords && operands[0]->dtype != DType::kI32) {
    return InvalidArgument(std::string(info.name) + " takes i32");
  }
  if (info.operands == OperandTypes::kBool && operands[0]->dtype != DType::kBool) {
    return InvalidArgument("not takes bool");
  }
  type.dtype = info.gives_bool ? DType::kBool : operands[first]->dtype;
  return type;
}

Status CheckConstant(const Value& node) {
  const int forms = (node.data != nullptr) + static_cast<int>(node.Has("value")) + node.Has("data");
  if (forms != 1) return InvalidArgument("a constant is a splat or has data, not both");
  if (!node.data) return {};
  if (node.data->dtype != node.type.dtype || node.data->dims != node.type.dims) {
    return InvalidArgument("a constant's type differs from its data's");
  }
  const int64_t bytes = node.type.NumElements() * SizeOf(node.type.dtype);
  if (static_cast<int64_t>(node.data->bytes.size()) != bytes) {
    return InvalidArgument("a constant's data has the wrong size");
  }
  return {};
}

Result<TensorType> InferView(const Value& node, Types operands) {
  const int64_t offset = node.Int("offset");
  const int64_t extent = node.type.Extent();
  if (node.type.dtype != operands[0]->dtype) return InvalidArgument("a view keeps the type");
  if (offset < 0 || (extent > 0 && offset > operands[0]->Extent() - extent)) {
    return InvalidArgument("a view leaves its operand's storage");
  }
  return node.type;
}

Result<TensorType> InferCopy(const Value& node, Types operands) {
  TensorType type = *operands[0];
  type.strides = node.type.strides;
  return type;
}

Result<TensorType> InferDequantize(const Value& node, Types operands) {
  const PackedMatrix m = MLC_TRY(PackedMatrixOf(node, operands));
  return TensorType{node.type.dtype, {m.depth, m.columns}, {}};
}

}  // namespace

Status CheckType(const TensorType& type) {
  if (type.rank() > kMaxRank) return InvalidArgument("rank is above " + std::to_string(kMaxRank));
  int64_t count = 1, span = 1;
  for (const int64_t dim : type.dims) {
    if (dim < 0 || dim > kMaxElements) return InvalidArgument("a dimension is out of range");
    if (__builtin_mul_overflow(count, dim, &count) ||
        __builtin_mul_overflow(span, std::max<int64_t>(dim, 1), &span) || span > kMaxElements) {
      return InvalidArgument("the tensor has too many elements");
    }
  }
  if (type.strides.empty()) return {};
  if (type.strides.size() != type.dims.size()) {
    return InvalidArgument("one stride per dimension is needed");
  }
  int64_t last = 0;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const int64_t stride = type.strides[i];
    if (stride < 0 || stride > kMaxElements) return InvalidArgument("a stride is out of range");
    int64_t reach = 0;
    if (__builtin_mul_overflow(std::max<int64_t>(type.dims[i], 1) - 1, stride, &reach) ||
        __builtin_add_overflow(last, reach, &last) || last >= kMaxElements) {
      return InvalidArgument("strides reach too far");
    }
  }
  return {};
}

Status CheckAttrs(const Value& node) {
  const OpInfo& info = InfoOf(node.op);
  const auto count = static_cast<int>(node.operands.size());
  if (count < info.min_operands || count > info.max_operands) {
    return InvalidArgument("takes " + std::to_string(info.min_operands) + " to " +
                           std::to_string(info.max_operands) + " operands, has " +
                           std::to_string(count));
  }
  for (int i = 0; i < count; ++i) {
    const bool optional = node.op == Op::kAttention ? i >= 3 : node.op == Op::kLayerNorm && i >= 1;
    if (node.operands[static_cast<size_t>(i)] == kNoValue && !optional) {
      return InvalidArgument("operand " + std::to_string(i) + " is absent");
    }
  }
  for (const auto& [key, value] : node.attrs) {
    const AttrInfo* attr = FindAttr(node.op, key);
    if (attr == nullptr) return InvalidArgument("unknown attribute '" + key + "'");
    if (!KindFits(*attr, value)) return InvalidArgument("attribute '" + key + "' has a wrong type");
    if (!WithinLimits(value)) return InvalidArgument("attribute '" + key + "' is out of range");
    if (attr->kind == AttrKind::kWord && !HasWord(*attr, std::get<std::string>(value))) {
      return InvalidArgument("attribute '" + key + "' must be one of: " + std::string(attr->words));
    }
  }
  for (const AttrInfo& attr : info.attrs) {
    if (attr.absent != AttrDefault::kOptional && !node.Has(attr.name)) {
      return InvalidArgument("attribute '" + std::string(attr.name) + "' is missing");
    }
  }
  return {};
}

Result<TensorType> InferType(const Value& node, Types operands) {
  MLC_TRY(CheckSmall(node, operands));
  switch (node.op) {
    case Op::kConstant:
      MLC_TRY(CheckType(node.type));
      MLC_TRY(CheckConstant(node));
      return node.type;
    case Op::kInput:
    case Op::kWeight:
      return node.type;
    case Op::kPointwise:
      return InferPointwise(node, operands);
    case Op::kCast: {
      TensorType type = *operands[0];
      type.dtype = node.type.dtype;
      type.strides.clear();
      return type;
    }
    case Op::kView:
      MLC_TRY(CheckType(node.type));
      return InferView(node, operands);
    case Op::kCopy:
      return InferCopy(node, operands);
    case Op::kDequantize:
      return InferDequantize(node, operands);
    case Op::kMatMul:
    case Op::kConv:
    case Op::kAttention:
    case Op::kPool:
      return shape_internal::InferContraction(node, operands);
    case Op::kReduce:
    case Op::kArg:
    case Op::kSoftmax:
    case Op::kLogSoftmax:
    case Op::kLayerNorm:
    case Op::kCumSum:
      return shape_internal::InferReduction(node, operands);
    case Op::kGather:
    case Op::kGatherElements:
    case Op::kGatherND:
    case Op::kScatterElements:
    case Op::kScatterND:
      return shape_internal::InferIndexed(node, operands);
    case Op::kNonZero:
    case Op::kSuppress:
      return shape_internal::InferSelection(node, operands);
    default:
      return shape_internal::InferMovement(node, operands);
  }
}

Result<ValueId> AddInferred(Graph& graph, Value node) {
  std::vector<const TensorType*> operands;
  for (const ValueId id : node.operands) {
    if (id != kNoValue && (id < 0 || id >= graph.size())) {
      return InvalidArgument("operand does not exist");
    }
    operands.push_back(id == kNoValue ? nullptr : &graph[id].type);
  }
  FillDefaults(node, !operands.empty() && operands[0] != nullptr ? operands[0]->rank() : 0);
  MLC_TRY(CheckAttrs(node).WithPrefix(ToText(node.op)));
  Result<TensorType> type = InferType(node, operands);
  if (!type.ok()) return type.status().WithPrefix(ToText(node.op));
  MLC_TRY(CheckType(*type).WithPrefix(ToText(node.op)));
  node.type = *std::move(type);
  return graph.Add(std::move(node));
}

}  // namespace mlc::graph
