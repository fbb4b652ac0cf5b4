#include "compiler/codegen/cuda/scalar_operators.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/check.h"

namespace mlc::codegen {

namespace {

bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// The functions of a float that is narrower than what computes with it.
struct NarrowFunctions {
  const char* round;
  const char* to_float;
  const char* bits;
};

std::optional<NarrowFunctions> FunctionsOf(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return NarrowFunctions{"RoundF16", "F16ToFloat", "F16Bits"};
    case DType::kBF16:
      return NarrowFunctions{"RoundBF16", "BF16ToFloat", "BF16Bits"};
    case DType::kF8E4M3Fn:
      return NarrowFunctions{"RoundF8E4M3", "F8E4M3ToFloat", "F8E4M3Bits"};
    case DType::kF8E5M2:
      return NarrowFunctions{"RoundF8E5M2", "F8E5M2ToFloat", "F8E5M2Bits"};
    default:
      return std::nullopt;
  }
}

// Functions of the language are in lower case.
bool IsDeviceFunction(std::string_view name) { return name[0] >= 'A' && name[0] <= 'Z'; }

Text CallAll(std::string_view function, const std::vector<Text>& args) {
  std::string text(function);
  text += '(';
  for (size_t i = 0; i < args.size(); ++i) text += (i == 0 ? "" : ", ") + args[i].text;
  return {text + ")"};
}

// In parentheses, because `|` and `^` bind like nothing else does.
Text Bits(const Text& a, const char* op, const Text& b) {
  return {"(" + a.At(Precedence::kBitAnd) + " " + op + " " + b.At(Precedence::kBitAnd) + ")"};
}

// Logic of booleans.
bool LogicOperator(ScalarOp op, const std::vector<Text>& args, Text* text) {
  switch (op) {
    case ScalarOp::kAnd:
      *text = Infix(args[0], "&&", args[1], Precedence::kAnd);
      return true;
    case ScalarOp::kOr:
      *text = {args[0].At(Precedence::kAnd) + " || " + args[1].At(Precedence::kAnd),
               Precedence::kOr};
      return true;
    case ScalarOp::kXor:
      *text = Infix(args[0], "!=", args[1], Precedence::kEqual);
      return true;
    default:
      return false;
  }
}

// Operators that read the same for every type.
bool PlainOperator(ScalarOp op, const std::vector<Text>& args, Text* text) {
  switch (op) {
    case ScalarOp::kEqual:
      *text = Infix(args[0], "==", args[1], Precedence::kEqual);
      return true;
    case ScalarOp::kLess:
      *text = Infix(args[0], "<", args[1], Precedence::kLess);
      return true;
    case ScalarOp::kLessEqual:
      *text = Infix(args[0], "<=", args[1], Precedence::kLess);
      return true;
    case ScalarOp::kNot:
      *text = {"!" + args[0].At(Precedence::kUnary), Precedence::kUnary};
      return true;
    case ScalarOp::kSelect:
      *text = Chosen(args);
      return true;
    default:
      return false;
  }
}

}  // namespace

Text Negated(const Text& a) {
  return {"-" + (a.text.starts_with('-') ? "(" + a.text + ")" : a.At(Precedence::kUnary)),
          Precedence::kUnary};
}

Text Chosen(const std::vector<Text>& args) {
  return {args[0].At(Precedence::kOr) + " ? " + args[1].At(Precedence::kOr) + " : " +
              args[2].At(Precedence::kTernary),
          Precedence::kTernary};
}

std::optional<ir::RoundedByte> RoundedByteOf(const ir::Expr& cast) {
  const ir::ExprRef& value = std::get<ir::Cast>(cast.node).value;
  const bool again =
      cast.type.dtype == DType::kF32 && std::holds_alternative<ir::Cast>(value->node);
  return ir::FindRoundedByte(again ? *value : cast);
}

Text ScalarOperators::Rounded(DType dtype, const Text& value) {
  const std::optional<NarrowFunctions> functions = FunctionsOf(dtype);
  return functions ? Call(functions_.Use(functions->round), value) : value;
}

Text ScalarOperators::Apply(ScalarOp op, DType dtype, const std::vector<Text>& args) {
  Text text;
  if (PlainOperator(op, args, &text)) return text;
  if (dtype == DType::kBool && LogicOperator(op, args, &text)) return text;
  if (!IsFloat(dtype)) return ApplyToInts(op, dtype, args);
  text = ApplyToFloats(op, dtype, args);
  const bool rounds = IsNarrow(dtype) && !InfoOf(op).gives_bool && !InfoOf(op).keeps_narrow;
  return rounds ? Rounded(dtype, text) : text;
}

Text ScalarOperators::ApplyToFloats(ScalarOp op, DType dtype, const std::vector<Text>& args) {
  const bool is_double = dtype == DType::kF64;
  const std::string_view approximate = InfoOf(op).cuda.approximate;
  if (approximate_ && !is_double && !approximate.empty()) {
    return CallAll(functions_.Use(approximate), args);
  }
  switch (op) {
    case ScalarOp::kNeg:
      return Negated(args[0]);
    case ScalarOp::kReciprocal:
      return Infix(FloatText(1, is_double), "/", args[0], Precedence::kMul);
    case ScalarOp::kAdd:
      return Infix(args[0], "+", args[1], Precedence::kAdd);
    case ScalarOp::kSub:
      return Infix(args[0], "-", args[1], Precedence::kAdd);
    case ScalarOp::kMul:
      return Infix(args[0], "*", args[1], Precedence::kMul);
    case ScalarOp::kDiv:
      return Infix(args[0], "/", args[1], Precedence::kMul);
    case ScalarOp::kRoundTf32:
      // A double would be rounded to float first, as the interpreter does.
      if (is_double) {
        return CastTo("double", CallAll(functions_.Use("RoundTf32"), {CastTo("float", args[0])}));
      }
      break;
    default:
      break;
  }
  const std::string_view function = InfoOf(op).cuda.function;
  MLC_CHECK(!function.empty()) << InfoOf(op).name;
  if (IsDeviceFunction(function)) return CallAll(functions_.Use(function), args);
  return CallAll(std::string(function) + (is_double ? "" : "f"), args);
}

Text ScalarOperators::ApplyToInts(ScalarOp op, DType dtype, const std::vector<Text>& args) {
  const auto use = [&](const char* function) { return CallAll(functions_.Use(function), args); };
  const bool wide = dtype == DType::kI64;
  // The low bits of the type; 32-bit and wider results have wrapped around already.
  const auto wrapped = [&](const Text& text) {
    return SizeOf(dtype) >= 4 ? text : CastTo(StorageType(dtype), text);
  };
  switch (op) {
    case ScalarOp::kNeg:
      return wrapped(Call(functions_.Use("WrapSub"), IntText(0, wide), args[0]));
    case ScalarOp::kAbs:
      return wrapped(use("WrapAbs"));
    case ScalarOp::kAdd:
      return wrapped(use("WrapAdd"));
    case ScalarOp::kSub:
      return wrapped(use("WrapSub"));
    case ScalarOp::kMul:
      return wrapped(use("WrapMul"));
    case ScalarOp::kDiv:
      return wrapped(use(wide ? "FloorDivide" : "Divide"));
    case ScalarOp::kMod:
      return wrapped(use("FloorMod"));
    case ScalarOp::kPow:
      return wide ? use("IntPower") : CastTo(StorageType(dtype), use("IntPower"));
    case ScalarOp::kMax:
      return use("Max");
    case ScalarOp::kMin:
      return use("Min");
    case ScalarOp::kSign:
      return use("Sign");
    case ScalarOp::kDot4:
      return use("DotOfBytes");
    case ScalarOp::kAnd:
      return Infix(args[0], "&", args[1], Precedence::kBitAnd);
    case ScalarOp::kOr:
      return Bits(args[0], "|", args[1]);
    case ScalarOp::kXor:
      return Bits(args[0], "^", args[1]);
    default:
      MLC_CHECK(false) << InfoOf(op).name << " of integers";
      return {};
  }
}

Text ScalarOperators::Convert(DType from, DType to, const Text& value) {
  if (from == to) return value;
  const bool from_double = from == DType::kF64;
  if (IsFloat(from) && IsFloat(to)) {
    if (to == DType::kF64) return CastTo("double", value);
    if (from_double && to == DType::kF16) return Call(functions_.Use("RoundDoubleToF16"), value);
    // Rounded once: a float that is odd where it is not exact rounds as the double does.
    if (from_double && IsFloat8(to)) return Rounded(to, Call(functions_.Use("OddFloat"), value));
    return Rounded(to, from_double ? CastTo("float", value) : value);
  }
  if (to == DType::kBool) {
    const Text zero = IsFloat(from) ? FloatText(0, from_double) : Text{"0"};
    return Infix(value, "!=", zero, Precedence::kEqual);
  }
  if (IsFloat(from)) {
    if (to == DType::kI64) return Call(functions_.Use("ToI64"), value);
    if (to == DType::kI32) return Call(functions_.Use("ToI32"), value);
    const int bits = SizeOf(to) * 8;
    const int low = to == DType::kU8 ? 0 : -(1 << (bits - 1));
    const int high = to == DType::kU8 ? 255 : (1 << (bits - 1)) - 1;
    return CallAll(functions_.Use("ToNarrow"), {value, IntText(low, false), IntText(high, false)});
  }
  if (IsFloat(to)) return Rounded(to, CastTo(to == DType::kF64 ? "double" : "float", value));
  return CastTo(StorageType(to), value);
}

Text ScalarOperators::RoundByte(const ir::RoundedByte& rounded, DType to, const Text& x) {
  constexpr int64_t kAbove = 3 << 22;  // floats from here on, and some before, are integers
  const char* function = to == DType::kU8    ? "RoundToU8"
                         : to == DType::kI8  ? "RoundToI8"
                         : to == DType::kI32 ? "RoundToLowByte"
                                             : "RoundToByte";
  const auto number = [](int64_t value) { return FloatText(static_cast<double>(value), false); };
  return CallAll(functions_.Use(function), {x, number(rounded.zero), number(kAbove + rounded.low),
                                            number(kAbove + rounded.high)});
}

Text ScalarOperators::FromStorage(DType dtype, const Text& raw) {
  const std::optional<NarrowFunctions> functions = FunctionsOf(dtype);
  if (functions) return Call(functions_.Use(functions->to_float), raw);
  if (dtype == DType::kBool) return Infix(raw, "!=", Text{"0"}, Precedence::kEqual);
  return raw;
}

Text ScalarOperators::ToStorage(DType dtype, const Text& value) {
  const std::optional<NarrowFunctions> functions = FunctionsOf(dtype);
  return functions ? Call(functions_.Use(functions->bits), value) : value;
}

}  // namespace mlc::codegen
