#include "compiler/ir/types.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "compiler/ir/statement_forms.h"
#include "compiler/types/small_float.h"

namespace mlc::ir {

namespace {

// Words of the text form beside the keywords of statement_forms.h.
constexpr std::array kReserved = std::to_array<std::string_view>(
    {"kernel",     "in",       "out",    "shared", "thread",  "reg",    "for",
     "parallel",   "unrolled", "if",     "else",   "let",     "step",   "streaming",
     "lanes",      "mask",     "stride", "level",  "threads", "per_sm", "overlays",
     "transposed", "cluster",  "roles",  "ranks"});

bool IsKeyword(std::string_view name) {
  const auto is_sync = [&](const SyncForm& form) { return form.keyword == name; };
  if (std::any_of(kSyncForms.begin(), kSyncForms.end(), is_sync)) return true;
  return AnyForm([&]<typename Node>() { return Form<Node>::kKeyword == name; });
}

std::string TypeText(const Type& type) {
  std::string text(ToText(type.dtype));
  if (type.lanes > 1) text.append("x").append(std::to_string(type.lanes));
  return text;
}

Status Misfit(ScalarOp op, const std::string& why) {
  return InvalidArgument(std::string(InfoOf(op).name) + " " + why);
}

// To `bits` explicit mantissa bits with smallest normal exponent `least` and largest value `most`.
double RoundToFormat(double value, int bits, int least, double most) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least);
  const double unit = std::ldexp(1.0, exponent - bits);
  const double rounded = std::nearbyint(value / unit) * unit;
  if (std::fabs(rounded) <= most) return rounded;
  return std::copysign(HUGE_VAL, value);
}

}  // namespace

bool IsName(std::string_view name) {
  if (name.empty() || name.size() > 128) return false;
  if (name[0] >= '0' && name[0] <= '9') return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return !IsKeyword(name) && std::find(kReserved.begin(), kReserved.end(), name) == kReserved.end();
}

Result<Type> TypeOfApply(ScalarOp op, std::span<const ExprRef> args) {
  const ScalarOpInfo& info = InfoOf(op);
  if (args.size() != static_cast<size_t>(info.arity)) {
    return Misfit(op, "takes " + std::to_string(info.arity) + " operands, not " +
                          std::to_string(args.size()));
  }
  std::span<const ExprRef> same = args;
  if (op == ScalarOp::kSelect) {
    if (args[0]->type.dtype != DType::kBool) return Misfit(op, "needs a bool condition");
    if (args[0]->type.lanes != args[1]->type.lanes) return Misfit(op, "needs equal lanes");
    same = args.subspan(1);
  }
  const Type type = same[0]->type;
  for (const ExprRef& arg : same) {
    if (arg->type != type) {
      return Misfit(op, "mixes " + TypeText(type) + " and " + TypeText(arg->type));
    }
  }
  if (IsSmall(type.dtype) && op != ScalarOp::kSelect && op != ScalarOp::kEqual) {
    return Misfit(op, "does not compute with " + TypeText(type));
  }
  const bool is_bool = type.dtype == DType::kBool;
  const bool is_logic = info.operands == OperandTypes::kBits;
  if (info.operands == OperandTypes::kBool && !is_bool) {
    return Misfit(op, "needs bool operands, not " + TypeText(type));
  }
  if (is_logic && IsFloat(type.dtype)) {
    return Misfit(op, "needs bool or integer operands, not " + TypeText(type));
  }
  if (info.operands == OperandTypes::kWords && type.dtype != DType::kI32) {
    return Misfit(op, "needs i32 operands, not " + TypeText(type));
  }
  const bool takes_bool =
      is_logic || info.operands == OperandTypes::kBool || info.operands == OperandTypes::kAny;
  if (is_bool && !takes_bool) return Misfit(op, "does not take bool operands");
  if (info.operands == OperandTypes::kFloats && !IsFloat(type.dtype)) {
    return Misfit(op, "needs float operands, not " + TypeText(type));
  }
  return Type{info.gives_bool ? DType::kBool : type.dtype, type.lanes};
}

Result<Type> TypeOfReduce(ScalarOp op, const ExprRef& value) {
  if (op != ScalarOp::kAdd && op != ScalarOp::kMul && op != ScalarOp::kMax &&
      op != ScalarOp::kMin) {
    return Misfit(op, "is no reduction");
  }
  if (value->type.dtype == DType::kBool) return Misfit(op, "does not reduce bool");
  return Type{value->type.dtype, 1};
}

bool IsIndex(const ExprRef& e) { return e != nullptr && e->type == Type{DType::kI64, 1}; }
bool IsLanes(int64_t lanes) { return lanes >= 1 && lanes <= kMaxLanes; }

double RoundTo(DType dtype, double value) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kF16:
      return RoundToFormat(value, 10, -14, 65504.0);
    case DType::kBF16:
      return RoundToFormat(value, 7, -126, 0x1.fep127);
    default:
      if (!IsSmall(dtype)) return value;
      return SmallFloatToDouble(dtype, DoubleToSmallFloat(dtype, value));
  }
}

int BiasOfCodes(DType dtype, int bits) {
  if (dtype == DType::kF16) return 1024;
  return dtype == DType::kBF16 && bits == 4 ? 128 : 0;
}

int64_t WrapTo(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI8:
      return static_cast<int8_t>(value);
    case DType::kU8:
      return static_cast<uint8_t>(value);
    case DType::kI16:
      return static_cast<int16_t>(value);
    case DType::kU16:
      return static_cast<uint16_t>(value);
    case DType::kI32:
      return static_cast<int32_t>(value);
    case DType::kU32:
      return static_cast<uint32_t>(value);
    case DType::kBool:
      return value != 0;
    default:
      break;
  }
  if (!IsSmall(dtype)) return value;
  const int64_t mask = (int64_t{1} << BitsOf(dtype)) - 1;
  const int64_t low = value & mask;
  return IsUnsigned(dtype) || low <= mask >> 1 ? low : low - mask - 1;
}

}  // namespace mlc::ir
