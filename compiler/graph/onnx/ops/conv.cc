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

// A convolution along the last axis of each channel by itself, which sees what came before: the
// last positions of the run before, or zeros. Operands: x, weights, bias, state.
void CausalConvWithState(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId w = c.In(1);
  const std::string activation = c.Text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return c.Fail("activation must be none, silu or swish");
  }
  if (c.ok() && (b.RankOf(x) != 3 || b.RankOf(w) != 3)) {
    return c.Fail("operands 0 and 1 must have rank 3");
  }
  if (!c.ok()) return;
  const int64_t channels = b.Dim(x, 1);
  const int64_t kept = b.Dim(w, 2) - 1;
  if (b.Dim(w, 0) != channels || b.Dim(w, 1) != 1 || kept < 0) {
    return c.Fail("the weights must be [channels, 1, length]");
  }
  const Dims state = {b.Dim(x, 0), channels, kept};
  if (c.Has(3) && b.DimsOf(c.In(3)) != state) {
    return c.Fail("the state must be [batch, channels, length of the kernel - 1]");
  }
  const ValueId before = c.Has(3) ? c.In(3) : b.Expand(b.ScalarLike(x, 0), state);
  const ValueId all = kept == 0 ? x : b.Concat({before, x}, 2);
  Value conv;
  conv.op = Op::kConv;
  conv.operands = {all, w};
  SetWindow({{kept + 1}, {1}, {1}, {0, 0}}, conv);
  conv.attrs["group"] = channels;
  ValueId y = b.Add(std::move(conv));
  if (c.Has(2)) y = PlusBias(c, y, c.In(2));
  if (activation != "none") y = b.Times(y, b.Apply(ScalarOp::kSigmoid, {y}));
  c.Out(y);
  c.Out(b.SliceAxis(all, 2, b.Dim(x, 2), kept), 1);
}

constexpr OpRow kConvRows[] = {{"CausalConvWithState", CausalConvWithState, 4, 2},
                               {"Conv", Conv, 3, 1}};

}  // namespace

std::span<const OpRow> ConvOps() { return kConvRows; }

}  // namespace mlc::graph::onnx
