// RotaryEmbedding: pairs of a head's elements rotated by their position's
// angle.
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// [batch, sequence, 1, half] from a cache by position, or given as it is.
ValueId Angles(OpContext& c, int operand, const Dims& dims, int64_t half) {
  Builder& b = c.b;
  ValueId cache = c.In(operand);
  if (c.Has(3)) cache = b.Gather(cache, c.In(3), 0);
  if (c.ok() && b.DimsOf(cache) != Dims{dims[0], dims[1], half}) {
    c.Fail("operand " + std::to_string(operand) + " does not fit batch, sequence and half a head");
  }
  return c.ok() ? b.Reshape(cache, {dims[0], dims[1], 1, half}) : kNoValue;
}

// Pairs are elements side by side.
ValueId TurnPairs(Builder& b, ValueId x, ValueId cosine, ValueId sine) {
  const Dims dims = b.DimsOf(x);
  const Dims part = {dims[0], dims[1], dims[2], dims[3] / 2};
  const ValueId first = b.Slice(x, {0, 0, 0, 0}, {1, 1, 1, 2}, part);
  const ValueId second = b.Slice(x, {0, 0, 0, 1}, {1, 1, 1, 2}, part);
  const ValueId real = b.Minus(b.Times(cosine, first), b.Times(sine, second));
  const ValueId imaginary = b.Plus(b.Times(sine, first), b.Times(cosine, second));
  const Dims pair = {dims[0], dims[1], dims[2], dims[3] / 2, 1};
  return b.Reshape(b.Concat({b.Reshape(real, pair), b.Reshape(imaginary, pair)}, 4), dims);
}

// Pairs are elements half the width apart. The halves are a dimension of two,
// so that no tensor is joined of halves.
ValueId TurnHalves(Builder& b, ValueId x, ValueId cosine, ValueId sine) {
  const Dims dims = b.DimsOf(x);
  const Dims halves = {dims[0], dims[1], dims[2], 2, dims[3] / 2};
  const Dims angles = {dims[0], dims[1], 1, 1, dims[3] / 2};
  const ValueId apart = b.Reshape(x, halves);
  const ValueId swapped = b.Slice(apart, {0, 0, 0, 1, 0}, {1, 1, 1, -1, 1}, halves);
  const ValueId sign = b.Cast(b.Reshape(b.IntVector({-1, 1}), {2, 1}), b.DTypeOf(x));
  const ValueId turned = b.Times(b.Times(b.Reshape(sine, angles), sign), swapped);
  return b.Reshape(b.Plus(b.Times(b.Reshape(cosine, angles), apart), turned), dims);
}

void RotaryEmbedding(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  if (!c.ok()) return;
  const Dims original = b.DimsOf(x);
  if (original.size() == 4) {
    x = b.Transpose(x, {0, 2, 1, 3});
  } else if (original.size() == 3) {
    const int64_t heads = c.RequiredInt("num_heads");
    if (c.ok() && (heads < 1 || original[2] % heads != 0)) {
      return c.Fail("num_heads does not divide the hidden size");
    }
    if (!c.ok()) return;
    x = b.Reshape(x, {original[0], original[1], heads, original[2] / heads});
  } else {
    return c.Fail("operand 0 must have rank 3 or 4");
  }
  const Dims dims = b.DimsOf(x);
  int64_t rotated = c.Int("rotary_embedding_dim", 0);
  if (rotated == 0) rotated = b.Dim(x, 3);
  if (c.ok() && (rotated < 2 || rotated % 2 != 0 || rotated > dims[3])) {
    return c.Fail("rotary_embedding_dim must be even and within the head");
  }
  if (!c.ok()) return;
  const int64_t half = rotated / 2;
  const ValueId cosine = Angles(c, 1, dims, half);
  const ValueId sine = Angles(c, 2, dims, half);
  const ValueId turning = b.SliceAxis(x, 3, 0, rotated);
  if (!c.ok()) return;
  ValueId y = c.Flag("interleaved", false) ? TurnPairs(b, turning, cosine, sine)
                                           : TurnHalves(b, turning, cosine, sine);
  if (rotated < dims[3]) y = b.Concat({y, b.SliceAxis(x, 3, rotated, dims[3] - rotated)}, 3);
  if (original.size() == 4) return c.Out(b.Transpose(y, {0, 2, 1, 3}));
  c.Out(b.Reshape(y, original));
}

constexpr OpRow kRotaryEmbeddingRows[] = {{"RotaryEmbedding", RotaryEmbedding, 4, 1}};

}  // namespace

std::span<const OpRow> RotaryEmbeddingOps() { return kRotaryEmbeddingRows; }

}  // namespace mlc::graph::onnx
