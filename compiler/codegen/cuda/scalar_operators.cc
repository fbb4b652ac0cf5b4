// Each scalar operator and conversion in C++.
#include "base/check.h"
#include "compiler/codegen/cuda/phase_printer.h"

namespace mlc::codegen {

namespace {

bool IsPowerOfTwo(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }
bool IsNarrow(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

// Functions of the language are in lower case.
bool IsDeviceFunction(std::string_view name) { return name[0] >= 'A' && name[0] <= 'Z'; }

Text CallAll(std::string_view function, const std::vector<Text>& args) {
  std::string text(function);
  text += '(';
  for (size_t i = 0; i < args.size(); ++i) text += (i == 0 ? "" : ", ") + args[i].text;
  return {text + ")"};
}

Text Negated(const Text& a) {
  return {"-" + (a.text.starts_with('-') ? "(" + a.text + ")" : a.At(Precedence::kUnary)),
          Precedence::kUnary};
}

Text Chosen(const std::vector<Text>& args) {
  return {args[0].At(Precedence::kOr) + " ? " + args[1].At(Precedence::kOr) + " : " +
              args[2].At(Precedence::kTernary),
          Precedence::kTernary};
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

Text PhasePrinter::Rounded(DType dtype, const Text& value) {
  if (dtype == DType::kF16) return Call(functions_.Use("RoundF16"), value);
  if (dtype == DType::kBF16) return Call(functions_.Use("RoundBF16"), value);
  return value;
}

Text PhasePrinter::Operator(ScalarOp op, DType dtype, const std::vector<Text>& args) {
  Text text;
  if (PlainOperator(op, args, &text)) return text;
  if (dtype == DType::kBool && LogicOperator(op, args, &text)) return text;
  if (!IsFloat(dtype)) return IntOperator(op, dtype, args);
  text = FloatOperator(op, dtype, args);
  const bool rounds = IsNarrow(dtype) && !InfoOf(op).gives_bool && !InfoOf(op).keeps_narrow;
  return rounds ? Rounded(dtype, text) : text;
}

Text PhasePrinter::FloatOperator(ScalarOp op, DType dtype, const std::vector<Text>& args) {
  const bool is_double = dtype == DType::kF64;
  const std::string_view approximate = InfoOf(op).cuda.approximate;
  if (kernel_.approximate && !is_double && !approximate.empty()) {
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

Text PhasePrinter::IntOperator(ScalarOp op, DType dtype, const std::vector<Text>& args) {
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

// 32-bit where neither an operand nor the result can leave 32 bits.
Text PhasePrinter::IndexOperator(const ir::Expr& e, const ir::Apply& apply) {
  std::vector<Text> args;
  bool all_fit = true;
  for (const ir::ExprRef& arg : apply.args) {
    args.push_back(Scalar(arg));
    if (arg->type.dtype == DType::kI64) all_fit = all_fit && Fits(*arg);
  }
  const bool fits = Fits(e);
  if (apply.op == ScalarOp::kSelect) return Chosen(args);
  const bool narrow = fits && all_fit;
  if (!narrow) {
    for (size_t i = 0; i < args.size(); ++i) {
      const auto* constant = std::get_if<ir::IntImm>(&apply.args[i]->node);
      if (constant != nullptr) {
        args[i] = IntText(constant->value, true);
      } else if (Fits(*apply.args[i])) {
        args[i] = CastTo("long long", args[i]);
      }
    }
  }
  const auto done = [&](const Text& text) { return fits && !narrow ? CastTo("int", text) : text; };
  if (analysis_.Of(e).wraps) return done(IntOperator(apply.op, DType::kI64, args));
  int64_t constant = 0;
  if (const auto* imm = std::get_if<ir::IntImm>(&apply.args.back()->node)) constant = imm->value;
  switch (apply.op) {
    case ScalarOp::kAdd:
      if (constant < 0 && constant > INT32_MIN) {
        return done(Infix(args[0], "-", IntText(-constant, !narrow), Precedence::kAdd));
      }
      return done(Infix(args[0], "+", args[1], Precedence::kAdd));
    case ScalarOp::kSub:
      return done(Infix(args[0], "-", args[1], Precedence::kAdd));
    case ScalarOp::kMul:
      return done(Infix(args[0], "*", args[1], Precedence::kMul));
    case ScalarOp::kNeg:
      return done(Negated(args[0]));
    case ScalarOp::kDiv:
    case ScalarOp::kMod:
      return done(IndexDivision(apply, args[0], args[1], narrow));
    default:
      return done(IntOperator(apply.op, DType::kI64, args));
  }
}

Text PhasePrinter::IndexDivision(const ir::Apply& apply, const Text& a, const Text& b,
                                 bool narrow) {
  const IndexFacts dividend = analysis_.Of(apply.args[0]);
  const IndexFacts divisor = analysis_.Of(apply.args[1]);
  const bool is_div = apply.op == ScalarOp::kDiv;
  if (dividend.low >= 0 && divisor.low > 0) {
    const std::string type = narrow ? "unsigned" : "unsigned long long";
    const bool constant = divisor.low == divisor.high;
    const Text by =
        constant ? Text{std::to_string(divisor.low) + (narrow ? "u" : "ull")} : CastTo(type, b);
    return CastTo(narrow ? "int" : "long long",
                  Infix(CastTo(type, a), is_div ? "/" : "%", by, Precedence::kMul));
  }
  if (divisor.low == divisor.high && IsPowerOfTwo(divisor.low)) {
    const Text whole{a.At(Precedence::kUnary)};
    if (!is_div) return Infix(whole, "&", IntText(divisor.low - 1, !narrow), Precedence::kBitAnd);
    return Infix(whole, ">>", IntText(__builtin_ctzll(static_cast<uint64_t>(divisor.low)), false),
                 Precedence::kShift);
  }
  return Call(functions_.Use(is_div ? "FloorDivide" : "FloorMod"), a, b);
}

Text PhasePrinter::Converted(DType from, DType to, const Text& value) {
  if (from == to) return value;
  const bool from_double = from == DType::kF64;
  if (IsFloat(from) && IsFloat(to)) {
    if (to == DType::kF64) return CastTo("double", value);
    if (from_double && to == DType::kF16) return Call(functions_.Use("RoundDoubleToF16"), value);
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

}  // namespace mlc::codegen
