// ConvTranspose as a convolution. With strides, every residue of an output coordinate modulo the
// stride sees its own taps: each becomes a channel of one convolution over the operand, and the
// channels are then moved into the image. Dilated and per-channel ones put zeros between the
// elements instead, and flip the weights with their channels exchanged.
#include <algorithm>

#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/ops/window.h"
#include "compiler/graph/onnx/tables.h"
#include "compiler/graph/ops.h"

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

// What both forms need to know.
struct Transposed {
  ValueId x = kNoValue;
  ValueId w = kNoValue;
  ValueId bias = kNoValue;  // one entry a channel, or absent
  int64_t group = 1;
  Window window;
  Dims out;  // spatial
};

ValueId WithBias(Builder& b, ValueId y, ValueId bias) {
  if (bias == kNoValue) return y;
  Dims dims(static_cast<size_t>(b.RankOf(y)) - 1, 1);
  dims[0] = b.TypeOf(bias).NumElements();
  return b.Plus(y, b.Reshape(bias, dims));
}

ValueId ByZeros(Builder& b, const Transposed& t) {
  const size_t rank = t.window.rank();
  const ValueId spread = Spread(b, t.x, t.window.strides);
  // Pads around the spread operand, of which negative ones crop.
  Dims around(2 * (rank + 2), 0);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t reach = t.window.Reach(i);
    const int64_t before = reach - 1 - t.window.pads[i];
    around[i + 2] = before;
    around[rank + 4 + i] =
        t.out[i] + reach - 1 - before - b.Dim(spread, static_cast<int64_t>(i) + 2);
  }
  Value conv;
  conv.op = Op::kConv;
  conv.operands = {b.Pad(spread, around, 0), FlipWeights(b, t.w, t.group)};
  conv.attrs["dilations"] = t.window.dilations;
  conv.attrs["group"] = t.group;
  return WithBias(b, b.Add(std::move(conv)), t.bias);
}

// Taps of each residue: the kernel's size over the stride, rounded up.
Dims TapsOf(const Window& window) {
  Dims taps;
  for (size_t i = 0; i < window.rank(); ++i) {
    taps.push_back((window.kernel[i] + window.strides[i] - 1) / window.strides[i]);
  }
  return taps;
}

// Without groups a residue's channels stay together: they are neighbours in the image too. With
// groups every channel's residues do.
bool ChannelsTogether(const Transposed& t) { return t.group == 1; }

// [C, O/g, taps * stride...] to [O and strides..., C/g, taps...] with the taps reversed.
ValueId ResidueWeights(Builder& b, const Transposed& t, const Dims& taps) {
  const size_t rank = taps.size();
  const Dims dims = b.DimsOf(t.w);
  const Dims& strides = t.window.strides;
  Dims pads(2 * (rank + 2), 0);
  Dims split = {t.group, dims[0] / t.group, dims[1]};
  // Group, channels out and residues, channels in, taps.
  Dims perm = {0};
  if (!ChannelsTogether(t)) perm.push_back(2);
  Dims joined = {t.group * dims[1], dims[0] / t.group};
  for (size_t i = 0; i < rank; ++i) {
    pads[rank + 4 + i] = taps[i] * strides[i] - t.window.kernel[i];
    split.push_back(taps[i]);
    split.push_back(strides[i]);
    perm.push_back(static_cast<int64_t>(4 + 2 * i));
    joined[0] *= strides[i];
    joined.push_back(taps[i]);
  }
  if (ChannelsTogether(t)) perm.push_back(2);
  perm.push_back(1);
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(3 + 2 * i));
  const ValueId moved = b.Reshape(b.Transpose(b.Reshape(b.Pad(t.w, pads, 0), split), perm), joined);
  Dims starts(rank + 2, 0);
  Dims steps(rank + 2, 1);
  for (size_t i = 0; i < rank; ++i) {
    starts[i + 2] = taps[i] - 1;
    steps[i + 2] = taps[i] > 1 ? -1 : 1;
  }
  return b.Slice(moved, starts, steps, joined);
}

ValueId ByResidues(Builder& b, const Transposed& t) {
  const size_t rank = t.window.rank();
  const Dims& strides = t.window.strides;
  const Dims taps = TapsOf(t.window);
  const int64_t batch = b.Dim(t.x, 0);
  const int64_t channels = b.Dim(t.w, 1) * t.group;
  int64_t residues = 1;
  Dims pads(2 * rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    residues *= strides[i];
    const int64_t in = b.Dim(t.x, static_cast<int64_t>(i) + 2);
    const int64_t wanted = (t.window.pads[i] + t.out[i] + strides[i] - 1) / strides[i];
    pads[i] = taps[i] - 1;
    pads[rank + i] = std::max(taps[i] - 1, wanted - in);
  }
  Value conv;
  conv.op = Op::kConv;
  conv.operands = {t.x, ResidueWeights(b, t, taps)};
  conv.attrs["pads"] = pads;
  conv.attrs["group"] = t.group;
  const bool together = ChannelsTogether(t);
  ValueId bias = t.bias;
  if (bias != kNoValue) {
    const Dims column = together ? Dims{1, channels} : Dims{channels, 1};
    const Dims both = together ? Dims{residues, channels} : Dims{channels, residues};
    bias = b.Reshape(b.Expand(b.Reshape(bias, column), both), {channels * residues});
  }
  const ValueId y = WithBias(b, b.Add(std::move(conv)), bias);
  Dims split = {batch};
  if (!together) split.push_back(channels);
  const auto first_residue = static_cast<int64_t>(split.size());
  split.insert(split.end(), strides.begin(), strides.end());
  if (together) split.push_back(channels);
  Dims perm = {0, together ? static_cast<int64_t>(rank) + 1 : 1};
  Dims joined = {batch, channels};
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = b.Dim(y, static_cast<int64_t>(i) + 2);
    split.push_back(size);
    perm.push_back(static_cast<int64_t>(2 + rank + i));
    perm.push_back(first_residue + static_cast<int64_t>(i));
    joined.push_back(size * strides[i]);
  }
  ValueId image = b.Reshape(b.Transpose(b.Reshape(y, split), perm), joined);
  for (size_t i = 0; i < rank; ++i) {
    image = b.SliceAxis(image, static_cast<int64_t>(i) + 2, t.window.pads[i], t.out[i]);
  }
  return image;
}

bool SuitsResidues(Builder& b, const Transposed& t) {
  const size_t rank = t.window.rank();
  bool strided = false;
  for (size_t i = 0; i < rank; ++i) {
    strided = strided || t.window.strides[i] > 1;
    if (t.window.dilations[i] != 1 || t.window.pads[i] < 0) return false;
    // A stride beyond the kernel leaves residues without taps.
    if (t.window.strides[i] > t.window.kernel[i]) return false;
  }
  const bool per_channel = b.Dim(t.w, 0) == t.group && t.group > 1;
  return strided && !per_channel && 2 * rank + 3 <= static_cast<size_t>(kMaxRank);
}

void ConvTranspose(OpContext& c) {
  Builder& b = c.b;
  Transposed t;
  t.x = c.In(0);
  t.w = c.In(1);
  if (c.ok() && (b.RankOf(t.x) != b.RankOf(t.w) || b.RankOf(t.x) < 3)) {
    return c.Fail("operands must have equal ranks of 3 or more");
  }
  if (!c.ok()) return;
  const Dims w_dims = b.DimsOf(t.w);
  const Dims kernel(w_dims.begin() + 2, w_dims.end());
  if (c.Ints("kernel_shape", kernel) != kernel) {
    return c.Fail("kernel_shape differs from the weights' shape");
  }
  t.group = c.Int("group", 1);
  if (t.group < 1 || w_dims[0] % t.group != 0 || w_dims[0] != b.Dim(t.x, 1)) {
    return c.Fail("channels do not fit the weights and groups");
  }
  t.window = ReadWindow(c, t.x, kernel);
  if (!c.ok()) return;
  const size_t rank = t.window.rank();
  const Dims extra = c.Ints("output_padding", Dims(rank, 0));
  if (extra.size() != rank) return c.Fail("output_padding must have one entry per dimension");
  for (const int64_t e : extra) {
    if (e < 0 || e > (1 << 20)) return c.Fail("output_padding is out of range");
  }
  if (!ResolvePads(c, t.x, extra, t.window)) return;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t in = b.Dim(t.x, static_cast<int64_t>(i) + 2);
    t.out.push_back(t.window.strides[i] * (in - 1) + extra[i] + t.window.Reach(i) -
                    t.window.pads[i] - t.window.pads[i + rank]);
    if (in < 1 || t.out[i] < 1) return c.Fail("the result would be empty");
  }
  if (c.Has(2)) t.bias = c.In(2);
  if (c.Has(2) && b.DimsOf(t.bias) != Dims{w_dims[1] * t.group}) {
    return c.Fail("the bias must have one entry a channel");
  }
  c.Out(SuitsResidues(b, t) ? ByResidues(b, t) : ByZeros(b, t));
}

constexpr OpRow kConvTransposeRows[] = {{"ConvTranspose", ConvTranspose, 3, 1}};

}  // namespace

std::span<const OpRow> ConvTransposeOps() { return kConvTransposeRows; }

}  // namespace mlc::graph::onnx
