// Changes of element type, and operators that pass a value on.
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/onnx/tensor.h"

namespace mlc::graph::onnx {
namespace {

void Cast(OpContext& c) {
  const ValueId x = c.In(0);
  const int64_t to = c.RequiredInt("to");
  if (!c.ok()) return;
  if (to == kInt4 || to == kUint4) return c.Unsupported("a cast to 4-bit integers");
  const Result<DType> dtype = DTypeOf(to > INT32_MAX || to < 0 ? -1 : static_cast<int32_t>(to));
  if (!dtype.ok()) return (void)c.b.Fail(dtype.status());
  c.Out(c.b.Cast(x, *dtype));
}

void CastLike(OpContext& c) {
  const ValueId x = c.In(0);
  c.Out(c.b.Cast(x, c.b.DTypeOf(c.In(1))));
}

void Identity(OpContext& c) { c.Out(c.In(0)); }

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
    {"Cast", Cast, 1, 1, "not to 4-bit integers"},
    {"CastLike", CastLike, 2, 1, "not to 4-bit integers"},
    {"Dropout", Dropout, 3, 2, "inference only"},
    {"Identity", Identity, 1, 1},
};

}  // namespace

std::span<const OpRow> CastOps() { return kCastRows; }

}  // namespace mlc::graph::onnx
