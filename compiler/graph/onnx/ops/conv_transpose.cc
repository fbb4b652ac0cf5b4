// ConvTranspose as a convolution: zeros between the elements stand for the strides, and the
// weights are flipped with their channels exchanged.
#include <algorithm>

#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/ops/tables.h"
#include "compiler/graph/onnx/ops/window.h"

namespace mlc::graph::onnx {

ValueId Spread(Builder& b, ValueId x, const Dims& strides) {
  for (size_t i = 0; i < strides.size() && b.ok(); ++i) {
    if (strides[i] == 1) continue;
    const size_t axis = i + 2;
    const Dims dims = b.DimsOf(x);
    Dims split = dims;
    split.insert(split.begin() + static_cast<int64_t>(axis) + 1, 1);
    Dims pads(2 * split.size(), 0);
    pads[split.size() + axis + 1] = strides[i] - 1;
    Dims joined = dims;
    joined[axis] = dims[axis] * strides[i];
    const ValueId spread = b.Reshape(b.Pad(b.Reshape(x, split), pads, 0), joined);
    x = b.SliceAxis(spread, static_cast<int64_t>(axis), 0,
                    std::max<int64_t>(joined[axis] - strides[i] + 1, 0));
  }
  return x;
}

namespace {

// [C, O/g, k...] to [O, C/g, k...] with the kernel reversed.
ValueId FlipWeights(Builder& b, ValueId w, int64_t group) {
  const Dims dims = b.DimsOf(w);
  const size_t rank = dims.size();
  Dims split = dims;
  split[0] /= group;
  split.insert(split.begin(), group);
  Dims perm(rank + 1);
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<int64_t>(i);
  std::swap(perm[1], perm[2]);
  Dims joined = dims;
  joined[0] = dims[1] * group;
  joined[1] = dims[0] / group;
  const ValueId exchanged = b.Reshape(b.Transpose(b.Reshape(w, split), perm), joined);
  Dims starts(rank, 0);
  Dims steps(rank, 1);
  for (size_t i = 2; i < rank; ++i) {
    starts[i] = joined[i] - 1;
    steps[i] = joined[i] > 1 ? -1 : 1;
  }
  return b.Slice(exchanged, starts, steps, joined);
}

// The pads of the operator from an asked output shape or an automatic mode.
bool ResolvePads(OpContext& c, ValueId x, const Dims& extra, Window& window) {
  const size_t rank = window.rank();
  const std::string mode = c.Text("auto_pad", "NOTSET");
  const bool has_shape = c.HasAttr("output_shape");
  if (!has_shape && mode != "SAME_UPPER" && mode != "SAME_LOWER") return c.ok();
  Dims shape = c.Ints("output_shape");
  if (has_shape && shape.size() == rank + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (has_shape && shape.size() != rank) {
    c.Fail("output_shape must have one entry per spatial dimension");
    return false;
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t in = c.b.Dim(x, static_cast<int64_t>(i) + 2);
    const int64_t full = window.strides[i] * (in - 1) + extra[i] + window.Reach(i);
    const int64_t out = has_shape ? shape[i] : in * window.strides[i];
    if (out < 1 || out > (int64_t{1} << 31)) {
      c.Fail("output_shape is out of range");
      return false;
    }
    // A shape larger than the full result asks for negative pads, which add zeros at the end.
    const int64_t total = full - out;
    const int64_t half = total >= 0 ? total / 2 : 0;
    window.pads[i] = mode == "SAME_UPPER" ? half : total - half;
    window.pads[i + rank] = total - window.pads[i];
    if (total < 0) {
      window.pads[i] = 0;
      window.pads[i + rank] = total;
    }
  }
  return true;
}

void ConvTranspose(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId w = c.In(1);
  if (c.ok() && (b.RankOf(x) != b.RankOf(w) || b.RankOf(x) < 3)) {
    return c.Fail("operands must have equal ranks of 3 or more");
  }
  if (!c.ok()) return;
  const Dims w_dims = b.DimsOf(w);
  const Dims kernel(w_dims.begin() + 2, w_dims.end());
  if (c.Ints("kernel_shape", kernel) != kernel) {
    return c.Fail("kernel_shape differs from the weights' shape");
  }
  const int64_t group = c.Int("group", 1);
  if (group < 1 || w_dims[0] % group != 0 || w_dims[0] != b.Dim(x, 1)) {
    return c.Fail("channels do not fit the weights and groups");
  }
  Window window = ReadWindow(c, x, kernel);
  if (!c.ok()) return;
  const size_t rank = window.rank();
  const Dims extra = c.Ints("output_padding", Dims(rank, 0));
  if (extra.size() != rank) return c.Fail("output_padding must have one entry per dimension");
  for (const int64_t e : extra) {
    if (e < 0 || e > (1 << 20)) return c.Fail("output_padding is out of range");
  }
  if (!ResolvePads(c, x, extra, window)) return;
  // Pads around the spread operand, of which negative ones crop.
  Dims around(2 * (rank + 2), 0);
  for (size_t i = 0; i < rank; ++i) {
    around[i + 2] = window.Reach(i) - 1 - window.pads[i];
    around[rank + 2 + i + 2] = window.Reach(i) - 1 - window.pads[i + rank] + extra[i];
  }
  Value conv;
  conv.op = Op::kConv;
  conv.operands = {b.Pad(Spread(b, x, window.strides), around, 0), FlipWeights(b, w, group)};
  conv.attrs["dilations"] = window.dilations;
  conv.attrs["group"] = group;
  ValueId y = b.Add(std::move(conv));
  if (c.Has(2) && c.ok()) {
    Dims dims(rank + 1, 1);
    dims[0] = b.Dim(y, 1);
    y = b.Plus(y, b.Reshape(c.In(2), dims));
  }
  c.Out(y);
}

constexpr OpRow kRows[] = {{"ConvTranspose", ConvTranspose}};

}  // namespace

std::span<const OpRow> ConvTransposeOps() { return kRows; }

}  // namespace mlc::graph::onnx
