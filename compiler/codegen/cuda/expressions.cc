// Scalars.
#include "compiler/codegen/cuda/phase_printer.h"
#include "compiler/ir/types.h"

namespace mlc::codegen {

namespace {

bool IsConstant(const ir::Expr& e) {
  return std::holds_alternative<ir::IntImm>(e.node) || std::holds_alternative<ir::FloatImm>(e.node);
}

}  // namespace

std::string_view PhasePrinter::TypeOf(const ir::ExprRef& e) {
  if (e->type.dtype == DType::kI64) return IndexType(analysis_.Of(e));
  return ValueType(e->type.dtype);
}

Text PhasePrinter::Scalar(const ir::ExprRef& e) {
  const auto found = ready_.find(e.get());
  if (found != ready_.end()) return found->second;
  Text text = ScalarNode(*e);
  const bool collective = std::holds_alternative<ir::ShuffleXor>(e->node);
  if (collective || (uses_[e.get()] > 1 && !text.IsWord() && !IsConstant(*e))) {
    text = Temporary(TypeOf(e), text);
  }
  ready_.emplace(e.get(), text);
  return text;
}

Text PhasePrinter::ScalarNode(const ir::Expr& e) {
  const DType dtype = e.type.dtype;
  if (const auto* integer = std::get_if<ir::IntImm>(&e.node)) {
    if (dtype == DType::kBool) return {integer->value != 0 ? "true" : "false"};
    return IntText(integer->value, !IndexFacts::Constant(integer->value).FitsInt());
  }
  if (const auto* number = std::get_if<ir::FloatImm>(&e.node)) {
    return FloatText(ir::RoundTo(dtype, number->value), dtype == DType::kF64);
  }
  if (const auto* var = std::get_if<ir::VarRef>(&e.node)) return {VarName(var->var)};
  if (const auto* load = std::get_if<ir::Load>(&e.node)) return ScalarLoad(*load);
  if (const auto* apply = std::get_if<ir::Apply>(&e.node)) return ScalarApply(e, *apply);
  if (const auto* broadcast = std::get_if<ir::Broadcast>(&e.node)) return Scalar(broadcast->value);
  if (const auto* reduce = std::get_if<ir::ReduceLanes>(&e.node)) return Reduce(*reduce);
  if (const auto* mask = std::get_if<ir::LaneMask>(&e.node)) {
    return Infix(Scalar(mask->active), ">", Text{"0"}, Precedence::kLess);
  }
  if (const auto* cast = std::get_if<ir::Cast>(&e.node)) {
    const DType from = cast->value->type.dtype;
    const Text value = Scalar(cast->value);
    const bool is_int = !IsFloat(from) && from != DType::kBool;
    // Narrow integers are int, and so are indices that fit.
    if (dtype == DType::kI64 && is_int) return value;
    if (dtype == DType::kI64 && from == DType::kBool) return CastTo("int", value);
    return Converted(from, dtype, value);
  }
  if (const auto* shuffle = std::get_if<ir::ShuffleXor>(&e.node)) {
    return {"__shfl_xor_sync(0xffffffffu, " + Scalar(shuffle->value).text + ", " +
            std::to_string(shuffle->lane_mask) + ")"};
  }
  return FloatText(0, dtype == DType::kF64);  // the lane index of a single lane
}

Text PhasePrinter::ScalarLoad(const ir::Load& load) {
  const ir::Buffer& buffer = BufferOf(load.buffer);
  const Text value = FromStorage(buffer.dtype, Element(load.buffer, Scalar(load.index)));
  if (load.mask == nullptr) return value;
  const Text active = Infix(Scalar(load.mask), ">", Text{"0"}, Precedence::kLess);
  std::string text = active.text + " ? " + value.text + " : ";
  text += IsFloat(buffer.dtype)          ? FloatText(0, buffer.dtype == DType::kF64).text
          : buffer.dtype == DType::kBool ? "false"
          : buffer.dtype == DType::kI64  ? "0ll"
                                         : "0";
  return {std::move(text), Precedence::kTernary};
}

Text PhasePrinter::ScalarApply(const ir::Expr& e, const ir::Apply& apply) {
  const DType dtype = apply.args.back()->type.dtype;
  if (dtype == DType::kI64 && !InfoOf(apply.op).gives_bool) {
    return IndexOperator(e, apply);
  }
  std::vector<Text> args;
  for (const ir::ExprRef& arg : apply.args) args.push_back(Scalar(arg));
  return Operator(apply.op, dtype, args);
}

Text PhasePrinter::Reduce(const ir::ReduceLanes& reduce) {
  const ir::Type type = reduce.value->type;
  PrepareLanes(reduce.value);
  const std::string values = Values(reduce.value);
  const Text sum{"T" + std::to_string(temporaries_++)};
  Line(std::string(ValueType(type.dtype)) + " " + sum.text + " = " + values + "[0];");
  LaneLoop(1, type.lanes, [&] {
    return sum.text + " = " + Operator(reduce.op, type.dtype, {sum, Text{values + "[L]"}}).text +
           ";";
  });
  return sum;
}

Text PhasePrinter::Element(ir::BufferId buffer, const Text& index) const {
  return {NameOf(buffer) + "[" + index.text + "]"};
}

Text PhasePrinter::FromStorage(DType dtype, const Text& raw) {
  if (dtype == DType::kF16) return Call(functions_.Use("F16ToFloat"), raw);
  if (dtype == DType::kBF16) return Call(functions_.Use("BF16ToFloat"), raw);
  if (dtype == DType::kBool) return Infix(raw, "!=", Text{"0"}, Precedence::kEqual);
  return raw;
}

Text PhasePrinter::ToStorage(DType dtype, const Text& value) {
  if (dtype == DType::kF16) return Call(functions_.Use("F16Bits"), value);
  if (dtype == DType::kBF16) return Call(functions_.Use("BF16Bits"), value);
  return value;
}

Text PhasePrinter::StorageOf(const ir::ExprRef& e) {
  const DType dtype = e->type.dtype;
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  if (!narrow) return Scalar(e);
  if (const auto* load = std::get_if<ir::Load>(&e->node);
      load != nullptr && load->mask == nullptr) {
    return Element(load->buffer, Scalar(load->index));
  }
  // Rounding and taking the bits is one instruction.
  const auto* cast = std::get_if<ir::Cast>(&e->node);
  const bool from_float = cast != nullptr && ValueType(cast->value->type.dtype) == "float";
  return ToStorage(dtype, Scalar(from_float ? cast->value : e));
}

Text PhasePrinter::Place(ir::BufferId buffer, const ir::ExprRef& index) {
  return {"&" + NameOf(buffer) + "[" + Scalar(index).text + "]", Precedence::kUnary};
}

Text PhasePrinter::RegisterBase(const ir::Buffer& buffer, const ir::ExprRef& index) {
  const int count = RepOf(buffer.dtype, buffer.lanes).count;
  if (const auto* constant = std::get_if<ir::IntImm>(&index->node)) {
    return IntText(constant->value * count, false);
  }
  const Text text = Scalar(index);
  if (count == 1) return text;
  return Infix(IntText(count, false), "*", text, Precedence::kMul);
}

Text PhasePrinter::RegisterPlace(ir::BufferId buffer, const ir::ExprRef& index, int offset) {
  Text at = RegisterBase(BufferOf(buffer), index);
  if (offset != 0) at = Infix(at, "+", IntText(offset, false), Precedence::kAdd);
  return {"&" + NameOf(buffer) + "[" + at.text + "]", Precedence::kUnary};
}

}  // namespace mlc::codegen
