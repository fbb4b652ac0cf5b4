#include "compiler/codegen/cuda/scalars.h"

#include <string>
#include <utility>
#include <vector>

#include "compiler/codegen/cuda/index_operators.h"
#include "compiler/codegen/cuda/vector_memory.h"
#include "compiler/ir/types.h"

namespace mlc::codegen {

namespace {

bool IsConstant(const ir::Expr& e) {
  return std::holds_alternative<ir::IntImm>(e.node) || std::holds_alternative<ir::FloatImm>(e.node);
}

}  // namespace

void ScalarPrinter::Begin(std::initializer_list<ir::ExprRef> expressions) {
  uses_.clear();
  ready_.clear();
  for (const ir::ExprRef& e : expressions) CountUses(e);
}

bool ScalarPrinter::IsReused(const ir::ExprRef& e) const {
  const auto found = uses_.find(e.get());
  return found != uses_.end() && found->second > 1;
}

void ScalarPrinter::CountUses(const ir::ExprRef& e) {
  if (e == nullptr || ++uses_[e.get()] > 1) return;
  if (const auto* load = std::get_if<ir::Load>(&e->node)) {
    CountUses(load->index);
    CountUses(load->mask);
  } else if (const auto* apply = std::get_if<ir::Apply>(&e->node)) {
    for (const ir::ExprRef& arg : apply->args) CountUses(arg);
  } else if (const auto* cast = std::get_if<ir::Cast>(&e->node)) {
    CountUses(cast->value);
  } else if (const auto* broadcast = std::get_if<ir::Broadcast>(&e->node)) {
    CountUses(broadcast->value);
  } else if (const auto* reduce = std::get_if<ir::ReduceLanes>(&e->node)) {
    CountUses(reduce->value);
  } else if (const auto* mask = std::get_if<ir::LaneMask>(&e->node)) {
    CountUses(mask->active);
  } else if (const auto* shuffle = std::get_if<ir::ShuffleXor>(&e->node)) {
    CountUses(shuffle->value);
  }
}

Text ScalarPrinter::Scalar(const ir::ExprRef& e) {
  const auto found = ready_.find(e.get());
  if (found != ready_.end()) return found->second;
  Text text = Node(*e);
  const bool collective = std::holds_alternative<ir::ShuffleXor>(e->node);
  if (collective || (IsReused(e) && !text.IsWord() && !IsConstant(*e))) {
    text = text_.Temporary(scope_.TypeOf(e), text);
  }
  ready_.emplace(e.get(), text);
  return text;
}

Text ScalarPrinter::Node(const ir::Expr& e) {
  const DType dtype = e.type.dtype;
  if (const auto* integer = std::get_if<ir::IntImm>(&e.node)) {
    if (dtype == DType::kBool) return {integer->value != 0 ? "true" : "false"};
    return IntText(integer->value, !IndexFacts::Constant(integer->value).FitsInt());
  }
  if (const auto* number = std::get_if<ir::FloatImm>(&e.node)) {
    return FloatText(ir::RoundTo(dtype, number->value), dtype == DType::kF64);
  }
  if (const auto* var = std::get_if<ir::VarRef>(&e.node)) return {scope_.VarName(var->var)};
  if (const auto* load = std::get_if<ir::Load>(&e.node)) return Load(*load);
  if (const auto* apply = std::get_if<ir::Apply>(&e.node)) return Apply(e, *apply);
  if (const auto* broadcast = std::get_if<ir::Broadcast>(&e.node)) return Scalar(broadcast->value);
  if (const auto* reduce = std::get_if<ir::ReduceLanes>(&e.node)) return reduction_(*reduce);
  if (const auto* mask = std::get_if<ir::LaneMask>(&e.node)) {
    return Infix(Scalar(mask->active), ">", Text{"0"}, Precedence::kLess);
  }
  if (const auto* cast = std::get_if<ir::Cast>(&e.node)) return Cast(e, *cast);
  if (const auto* shuffle = std::get_if<ir::ShuffleXor>(&e.node)) {
    return {"__shfl_xor_sync(0xffffffffu, " + Scalar(shuffle->value).text + ", " +
            std::to_string(shuffle->lane_mask) + ")"};
  }
  return FloatText(0, dtype == DType::kF64);  // the lane index of a single lane
}

Text ScalarPrinter::Load(const ir::Load& load) {
  const ir::Buffer& buffer = scope_.BufferOf(load.buffer);
  const Text value = operators_.FromStorage(buffer.dtype, Element(load.buffer, Scalar(load.index)));
  if (load.mask == nullptr) return value;
  const Text active = Infix(Scalar(load.mask), ">", Text{"0"}, Precedence::kLess);
  std::string text = active.text + " ? " + value.text + " : ";
  text += IsFloat(buffer.dtype)          ? FloatText(0, buffer.dtype == DType::kF64).text
          : buffer.dtype == DType::kBool ? "false"
          : buffer.dtype == DType::kI64  ? "0ll"
                                         : "0";
  return {std::move(text), Precedence::kTernary};
}

Text ScalarPrinter::Apply(const ir::Expr& e, const ir::Apply& apply) {
  const DType dtype = apply.args.back()->type.dtype;
  std::vector<Text> args;
  for (const ir::ExprRef& arg : apply.args) args.push_back(Scalar(arg));
  if (dtype == DType::kI64 && !InfoOf(apply.op).gives_bool) {
    return ApplyToIndices(scope_, operators_, e, apply, std::move(args));
  }
  return operators_.Apply(apply.op, dtype, args);
}

Text ScalarPrinter::Cast(const ir::Expr& e, const ir::Cast& cast) {
  const DType dtype = e.type.dtype;
  const DType from = cast.value->type.dtype;
  if (const std::optional<ir::RoundedByte> rounded = RoundedByteOf(e)) {
    return operators_.RoundByte(*rounded, dtype, Scalar(rounded->x));
  }
  const Text value = Scalar(cast.value);
  const bool is_int = !IsFloat(from) && from != DType::kBool;
  // Narrow integers are int, and so are indices that fit.
  if (dtype == DType::kI64 && is_int) return value;
  if (dtype == DType::kI64 && from == DType::kBool) return CastTo("int", value);
  return operators_.Convert(from, dtype, value);
}

Text ScalarPrinter::Element(ir::BufferId buffer, const Text& index) const {
  return {scope_.NameOf(buffer) + "[" + index.text + "]"};
}

Text ScalarPrinter::StorageOf(const ir::ExprRef& e) {
  const DType dtype = e->type.dtype;
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16 || IsFloat8(dtype);
  if (!narrow) return Scalar(e);
  if (const auto* load = std::get_if<ir::Load>(&e->node);
      load != nullptr && load->mask == nullptr) {
    return Element(load->buffer, Scalar(load->index));
  }
  // Rounding and taking the bits is one instruction.
  const auto* cast = std::get_if<ir::Cast>(&e->node);
  const bool from_float = cast != nullptr && ValueType(cast->value->type.dtype) == "float";
  return operators_.ToStorage(dtype, Scalar(from_float ? cast->value : e));
}

Text ScalarPrinter::Place(ir::BufferId buffer, const ir::ExprRef& index) {
  return {"&" + scope_.NameOf(buffer) + "[" + Scalar(index).text + "]", Precedence::kUnary};
}

Text ScalarPrinter::RegisterBase(const ir::Buffer& buffer, const ir::ExprRef& index) {
  const int count = LaneArray::Of(buffer.dtype, buffer.lanes).count;
  if (const auto* constant = std::get_if<ir::IntImm>(&index->node)) {
    return IntText(constant->value * count, false);
  }
  const Text text = Scalar(index);
  if (count == 1) return text;
  return Infix(IntText(count, false), "*", text, Precedence::kMul);
}

Text ScalarPrinter::RegisterPlace(ir::BufferId buffer, const ir::ExprRef& index, int offset) {
  Text at = RegisterBase(scope_.BufferOf(buffer), index);
  if (offset != 0) at = Infix(at, "+", IntText(offset, false), Precedence::kAdd);
  return {"&" + scope_.NameOf(buffer) + "[" + at.text + "]", Precedence::kUnary};
}

}  // namespace mlc::codegen
