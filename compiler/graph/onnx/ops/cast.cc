// Changes of element type, and operators that pass a value on.
#include <algorithm>

#include "compiler/graph/onnx/ops/conversion.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

Conversion ConversionOf(OpContext& c) {
  Conversion how;
  how.saturates = c.Flag("saturate", true);
  const std::string rounding = c.Text("round_mode", "up");
  if (rounding == "down") how.rounding = ScaleRounding::kDown;
  if (rounding == "nearest") how.rounding = ScaleRounding::kNearest;
  if (rounding != "up" && rounding != "down" && rounding != "nearest") {
    c.Fail("round_mode must be up, down or nearest");
  }
  return how;
}

void Cast(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t to = c.RequiredInt("to");
  if (!c.ok()) return;
  const Result<DType> dtype = DTypeOf(to > INT32_MAX || to < 0 ? -1 : static_cast<int32_t>(to));
  if (!dtype.ok()) return (void)c.b.Fail(dtype.status());
  c.Out(Converted(c.b, x, *dtype, ConversionOf(c)));
}

void CastLike(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(Converted(c.b, x, StoredTypeOf(c.b, c.In(1)), ConversionOf(c)));
}

// The bits of an integer of a size are those of the other integers of that size.
void BitCast(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t to = c.RequiredInt("to");
  if (!c.ok()) return;
  const Result<DType> dtype = DTypeOf(static_cast<int32_t>(std::clamp<int64_t>(to, 0, 1000)));
  if (!dtype.ok()) return (void)c.b.Fail(dtype.status());
  const DType from = c.b.DTypeOf(x);
  if (BitsOf(from) != BitsOf(*dtype)) return c.Fail("the types must have equal numbers of bits");
  const auto is_integer = [](DType type) { return !IsFloat(type) && type != DType::kBool; };
  if (from != *dtype && (!is_integer(from) || !is_integer(*dtype))) {
    return c.Unsupported("the bits of a float or bool as another type");
  }
  c.Out(c.b.Cast(x, *dtype));
}

void Identity(OpContext& c) { c.Out(Sequences::Is(AnyOperand(c, 0)) ? AnyOperand(c, 0) : c.In(0)); }

// Inference passes the value on; training is refused.
void Dropout(OpContext& c) {
  const ValueId x = c.In(0);
  if (c.opset() < 7 && c.Has(0) && c.HasAttr("is_test") && !c.Flag("is_test", false)) {
    return c.Unsupported("training mode");
  }
  if (c.Has(2)) {
    const Dims training = c.IntsIn(2);
    if (c.ok() && (training.empty() || training[0] != 0)) return c.Unsupported("training mode");
  }
  c.Out(x);
  if (c.IsOutputUsed(1)) c.Out(c.b.Expand(c.b.Scalar(DType::kBool, 1), c.b.DimsOf(x)), 1);
}

constexpr OpRow kCastRows[] = {
    {"BitCast", BitCast, 1, 1, "between integers"},
    {"Cast", Cast, 1, 1},
    {"CastLike", CastLike, 2, 1},
    {"Dropout", Dropout, 3, 2, "inference only"},
    {"Identity", Identity, 1, 1, "", true},
};

}  // namespace

std::span<const OpRow> CastOps() { return kCastRows; }

}  // namespace mlc::graph::onnx
