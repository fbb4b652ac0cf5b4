// RotaryEmbedding: pairs of a head's elements rotated by their position's angle.
#include "compiler/graph/onnx/ops/heads.h"
#include "compiler/graph/onnx/ops/rotary.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {

namespace {

// Pairs are elements side by side.
ValueId TurnPairs(Builder& b, ValueId x, const Rotation& rotation) {
  const Dims dims = b.DimsOf(x);
  const Dims part = {dims[0], dims[1], dims[2], dims[3] / 2};
  const ValueId first = b.Slice(x, {0, 0, 0, 0}, {1, 1, 1, 2}, part);
  const ValueId second = b.Slice(x, {0, 0, 0, 1}, {1, 1, 1, 2}, part);
  const ValueId real = b.Minus(b.Times(rotation.cosine, first), b.Times(rotation.sine, second));
  const ValueId imaginary = b.Plus(b.Times(rotation.sine, first), b.Times(rotation.cosine, second));
  const Dims pair = {dims[0], dims[1], dims[2], dims[3] / 2, 1};
  return b.Reshape(b.Concat({b.Reshape(real, pair), b.Reshape(imaginary, pair)}, 4), dims);
}

// Pairs are elements half the width apart. The halves are a dimension of two, so that no tensor is
// joined of halves.
ValueId TurnHalves(Builder& b, ValueId x, const Rotation& rotation) {
  const Dims dims = b.DimsOf(x);
  const Dims halves = {dims[0], dims[1], dims[2], 2, dims[3] / 2};
  const auto of_both_halves = [&](ValueId angles) {
    Dims both = b.DimsOf(angles);
    both.insert(both.end() - 1, 1);
    return b.Reshape(angles, both);
  };
  const ValueId apart = b.Reshape(x, halves);
  const ValueId swapped = b.Slice(apart, {0, 0, 0, 1, 0}, {1, 1, 1, -1, 1}, halves);
  const ValueId sign = b.Cast(b.Reshape(b.IntVector({-1, 1}), {2, 1}), b.DTypeOf(x));
  const ValueId turned = b.Times(b.Times(of_both_halves(rotation.sine), sign), swapped);
  return b.Reshape(b.Plus(b.Times(of_both_halves(rotation.cosine), apart), turned), dims);
}

}  // namespace

ValueId Rotated(Builder& b, ValueId x, const Rotation& rotation) {
  const Dims dims = b.DimsOf(x);
  const int64_t half = b.Dim(rotation.cosine, 3);
  if (b.ok() && (dims.size() != 4 || half < 1 || half > dims[3] / 2)) {
    return b.Fail("the angles of " + std::to_string(half) + " pairs do not fit a head of " +
                  std::to_string(b.Dim(x, 3)) + " elements");
  }
  if (!b.ok()) return kNoValue;
  const int64_t rotated = 2 * half;
  const ValueId turning = b.SliceAxis(x, 3, 0, rotated);
  if (!b.ok()) return kNoValue;
  const ValueId y =
      rotation.interleaved ? TurnPairs(b, turning, rotation) : TurnHalves(b, turning, rotation);
  if (rotated == dims[3]) return y;
  return b.Concat({y, b.SliceAxis(x, 3, rotated, dims[3] - rotated)}, 3);
}

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
  Rotation rotation;
  rotation.cosine = Angles(c, 1, dims, rotated / 2);
  rotation.sine = Angles(c, 2, dims, rotated / 2);
  rotation.interleaved = c.Flag("interleaved", false);
  const ValueId y = Rotated(b, x, rotation);
  if (original.size() == 4) return c.Out(b.Transpose(y, {0, 2, 1, 3}));
  c.Out(b.Reshape(y, original));
}

// Positions [batch, sequence] of operand 1, which may give the first one alone.
ValueId Positions(OpContext& c, int64_t batch, int64_t length) {
  Builder& b = c.b;
  const ValueId given = b.Cast(c.In(1), DType::kI64);
  const Dims dims = b.DimsOf(given);
  if (dims == Dims{batch, length}) return given;
  if (c.ok() && b.TypeOf(given).NumElements() != 1) {
    c.Fail("operand 1 must hold the first position, or a position for each of " +
           std::to_string(batch) + " x " + std::to_string(length) + " elements of the sequence");
  }
  if (!c.ok()) return kNoValue;
  const ValueId first = b.Reshape(given, {});
  return b.Expand(b.Plus(Numbered(b, length), first), {batch, length});
}

// [batch, 1, sequence, half] of the cache that is operand `at`.
ValueId AnglesAt(OpContext& c, int at, ValueId positions) {
  Builder& b = c.b;
  const ValueId angles = b.Gather(c.In(at), positions, 0);
  const Dims dims = b.DimsOf(angles);
  if (c.ok() && dims.size() != 3) c.Fail("operand " + std::to_string(at) + " must have rank 2");
  return c.ok() ? b.Reshape(angles, {dims[0], 1, dims[1], dims[2]}) : kNoValue;
}

// Operands: x, positions, caches of cosines and sines by position.
void FusedRotaryEmbedding(OpContext& c) {
  Builder& b = c.b;
  ValueId x = c.In(0);
  const int rank = b.RankOf(x);
  if (c.Flag("is_packed_batching", false)) return c.Unsupported("is_packed_batching=1");
  if (c.Float("scale", 1) != 1) return c.Unsupported("a scale other than 1");
  if (c.ok() && rank != 3 && rank != 4) return c.Fail("operand 0 must have rank 3 or 4");
  const int64_t half = b.Dim(c.In(2), 1);
  if (c.ok() && half < 1) return c.Fail("operand 2 has no angles");
  if (!c.ok()) return;
  const int64_t given = c.Int("num_heads", 0);
  if (c.Int("rotary_embedding_dim", 0) > 0 && given < 1 && rank == 3) {
    return c.Fail("rotary_embedding_dim needs num_heads");
  }
  if (rank == 3) x = SplitHeads(c, x, given > 0 ? given : b.Dim(x, 2) / (2 * half));
  const ValueId positions = Positions(c, b.Dim(x, 0), b.Dim(x, 2));
  const Rotation rotation = {AnglesAt(c, 2, positions), AnglesAt(c, 3, positions),
                             c.Flag("interleaved", false)};
  const ValueId y = Rotated(b, x, rotation);
  c.Out(rank == 3 ? JoinHeads(b, y) : y);
}

constexpr OpRow kRotaryEmbeddingRows[] = {{"RotaryEmbedding", RotaryEmbedding, 4, 1}};

constexpr OpRow kFusedRotaryRows[] = {
    {"RotaryEmbedding", FusedRotaryEmbedding, 4, 1, "no packed batch, no scale"},
};

}  // namespace

std::span<const OpRow> RotaryEmbeddingOps() { return kRotaryEmbeddingRows; }
std::span<const OpRow> FusedRotaryEmbeddingOps() { return kFusedRotaryRows; }

}  // namespace mlc::graph::onnx
