// Convolutions. A bias becomes an addition that fuses with the convolution later.
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/ops/window.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

ValueId Convolution(OpContext& c, ValueId x, ValueId w) {
  if (c.ok() && c.b.RankOf(x) != c.b.RankOf(w)) {
    c.Fail("the weights' rank differs from the operand's");
  }
  if (c.ok() && c.b.RankOf(w) < 3) c.Fail("operand 0 must have rank 3 or more");
  if (!c.ok()) return kNoValue;
  const Dims& w_dims = c.b.DimsOf(w);
  const Dims kernel(w_dims.begin() + 2, w_dims.end());
  if (c.Ints("kernel_shape", kernel) != kernel) {
    c.Fail("kernel_shape differs from the weights' shape");
    return kNoValue;
  }
  const Window window = ReadWindow(c, x, kernel);
  if (!c.ok()) return kNoValue;
  Value conv;
  conv.op = Op::kConv;
  conv.operands = {x, w};
  SetWindow(window, conv);
  conv.attrs["group"] = c.Int("group", 1);
  return c.b.Add(std::move(conv));
}

ValueId PlusBias(OpContext& c, ValueId y, ValueId bias) {
  if (!c.ok()) return kNoValue;
  const int64_t channels = c.b.Dim(y, 1);
  if (c.b.DimsOf(bias) != Dims{channels}) {
    c.Fail("the bias must have one entry a channel");
    return kNoValue;
  }
  Dims dims(static_cast<size_t>(c.b.RankOf(y)) - 1, 1);
  dims[0] = channels;
  return c.b.Plus(y, c.b.Reshape(bias, dims));
}

namespace {

void Conv(OpContext& c) {
  const ValueId x = c.In(0);
  const ValueId y = Convolution(c, x, c.In(1));
  c.Out(c.Has(2) ? PlusBias(c, y, c.In(2)) : y);
}

constexpr OpRow kConvRows[] = {{"Conv", Conv, 3, 1}};

}  // namespace

std::span<const OpRow> ConvOps() { return kConvRows; }

}  // namespace mlc::graph::onnx
