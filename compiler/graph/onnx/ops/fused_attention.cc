// Attention and embeddings as ONNX Runtime's optimizer fuses them (domain com.microsoft).
#include <cmath>
#include <limits>

#include "compiler/graph/onnx/ops/heads.h"
#include "compiler/graph/onnx/ops/norms.h"
#include "compiler/graph/onnx/ops/products.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int kNone = -1;

// Heads as [batch, heads, sequence, size], and which operands of the node mask them.
struct FusedHeads {
  ValueId q = kNoValue;
  ValueId k = kNoValue;
  ValueId v = kNoValue;
  int mask = kNone;
  int bias = kNone;
};

// True where a key counts: the mask holds each row's length, its end and start, one flag a key, or
// one a pair.
ValueId Kept(OpContext& c, ValueId mask, int64_t batch, int64_t keys) {
  Builder& b = c.b;
  const Dims d = b.DimsOf(mask);
  if (!c.ok()) return kNoValue;
  if (d == Dims{batch} || d == Dims{2 * batch}) {
    const ValueId key = Numbered(b, keys);
    const auto places = [&](int64_t at) {
      const ValueId part = b.SliceAxis(b.Cast(mask, DType::kI64), 0, at, batch);
      return b.Reshape(part, {batch, 1, 1, 1});
    };
    const ValueId before = b.Apply(ScalarOp::kLess, {key, places(0)});
    if (d[0] == batch) return before;
    return b.Apply(ScalarOp::kAnd, {before, b.Apply(ScalarOp::kLessEqual, {places(batch), key})});
  }
  const ValueId flag = b.Cast(mask, DType::kBool);
  if (d == Dims{batch, keys}) return b.Reshape(flag, {batch, 1, 1, keys});
  if (d.size() == 3 && d[2] == keys) return b.Reshape(flag, {d[0], 1, d[1], keys});
  return b.Fail(
      Unimplemented("a mask of this shape is not supported: give one flag for each batch and key"));
}

// What is added to the scores; kNoValue: nothing.
ValueId ScoreBias(OpContext& c, const FusedHeads& heads) {
  Builder& b = c.b;
  const DType type = b.DTypeOf(heads.q);
  const int64_t queries = b.Dim(heads.q, 2);
  const int64_t keys = b.Dim(heads.k, 2);
  if (!c.ok()) return kNoValue;
  ValueId bias = c.Has(heads.bias) ? c.In(heads.bias) : kNoValue;
  if (c.Has(heads.mask)) {
    const ValueId kept = Kept(c, c.In(heads.mask), b.Dim(heads.q, 0), keys);
    const double filler = c.Float("mask_filter_value", -10000);
    const ValueId filled = b.Select(kept, b.Scalar(type, 0), b.Scalar(type, filler));
    bias = bias == kNoValue ? filled : b.Plus(bias, filled);
  }
  if (!c.Flag("unidirectional", false)) return bias;
  // Later keys are hidden for good; those that the mask fills still count where there are no
  // others.
  const ValueId query = b.Plus(Numbered(b, queries), b.IntScalar(keys - queries));
  const ValueId seen =
      b.Apply(ScalarOp::kLessEqual, {Numbered(b, keys), b.Reshape(query, {queries, 1})});
  const ValueId hidden = b.Scalar(type, -std::numeric_limits<double>::infinity());
  return b.Select(seen, bias == kNoValue ? b.Scalar(type, 0) : bias, hidden);
}

void OutAttended(OpContext& c, const FusedHeads& heads) {
  Builder& b = c.b;
  if (!c.ok()) return;
  const int64_t size = b.Dim(heads.q, 3);
  if (size < 1) return c.Fail("the heads are empty");
  if (b.RankOf(heads.k) != 4 || b.RankOf(heads.v) != 4) {
    return c.Fail("keys and values must both be split into heads, or neither");
  }
  double scale = c.Float("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  if (!(scale > 0)) return c.Unsupported("a negative scale");
  const ValueId bias = ScoreBias(c, heads);
  c.Out(JoinHeads(b, AttendTo(b, heads.q, heads.k, heads.v, bias, scale)));
}

// Queries, keys and values side by side in the last dimension, of these sizes.
FusedHeads SplitSideBySide(OpContext& c, ValueId all, const Dims& sizes) {
  const int64_t count = c.RequiredInt("num_heads");
  FusedHeads heads;
  heads.q = SplitHeads(c, c.b.SliceAxis(all, 2, 0, sizes[0]), count);
  heads.k = SplitHeads(c, c.b.SliceAxis(all, 2, sizes[0], sizes[1]), count);
  heads.v = SplitHeads(c, c.b.SliceAxis(all, 2, sizes[0] + sizes[1], sizes[2]), count);
  return heads;
}

// Keys and values after those of operand `past`, which holds both; result 1 is like it.
void JoinPast(OpContext& c, FusedHeads& heads, int past) {
  Builder& b = c.b;
  if (!c.Has(past) && !c.IsOutputUsed(1)) return;
  if (c.Flag("past_present_share_buffer", false)) return c.Unsupported("a shared cache");
  if (c.ok() && b.DimsOf(heads.v) != b.DimsOf(heads.k)) {
    return c.Fail("a past or present state needs keys and values of one size");
  }
  if (c.Has(past)) {
    const ValueId state = c.In(past);
    Dims both = b.DimsOf(heads.k);
    const int64_t length = b.Dim(state, 3);
    both[2] = length;
    Dims expected = both;
    expected.insert(expected.begin(), 2);
    if (c.ok() && b.DimsOf(state) != expected) {
      return c.Fail("the past state must be [2, batch, heads, positions, head size]");
    }
    const auto half = [&](int64_t at) { return b.Reshape(b.SliceAxis(state, 0, at, 1), both); };
    heads.k = b.Concat({half(0), heads.k}, 2);
    heads.v = b.Concat({half(1), heads.v}, 2);
  }
  if (!c.ok()) return;
  Dims one = b.DimsOf(heads.k);
  one.insert(one.begin(), 1);
  c.Out(b.Concat({b.Reshape(heads.k, one), b.Reshape(heads.v, one)}, 0), 1);
}

// Operands: x, weights of q, k and v side by side, their bias, mask, past, bias of the scores.
void Attention(OpContext& c) {
  if (c.Flag("do_rotary", false)) return c.Unsupported("a rotary embedding inside");
  const auto [all, sizes] = ProjectSideBySide(c, 3);
  if (!c.ok()) return;
  FusedHeads heads = SplitSideBySide(c, all, sizes);
  if (!c.ok()) return;
  JoinPast(c, heads, 4);
  heads.mask = 3;
  heads.bias = 5;
  OutAttended(c, heads);
}

// Operands: x, weights, bias, scales of x and weights, mask, zero points of both, past.
void QAttention(OpContext& c) {
  Builder& b = c.b;
  if (c.Flag("do_rotary", false)) return c.Unsupported("a rotary embedding inside");
  if (c.ok() && (b.RankOf(c.In(0)) != 3 || b.RankOf(c.In(1)) != 2)) {
    return c.Fail("operands 0 and 1 must have rank 3 and 2");
  }
  if (c.ok() && b.TypeOf(c.In(3)).NumElements() != 1) {
    return c.Fail("the scale of operand 0 must be one number");
  }
  const ValueId scale = b.Times(b.Reshape(c.In(3), {}), c.In(4));
  const ValueId all = b.Plus(ScaledIntegerProduct(c, {0, 1, 6, 7}, scale), c.In(2));
  const int64_t width = b.Dim(all, 2);
  if (c.ok() && (width < 3 || width % 3 != 0)) {
    return c.Fail("the weights do not hold queries, keys and values of one size");
  }
  FusedHeads heads = SplitSideBySide(c, all, {width / 3, width / 3, width / 3});
  if (!c.ok()) return;
  JoinPast(c, heads, 8);
  heads.mask = 5;
  OutAttended(c, heads);
}

// Part `at` of [batch, sequence, heads, parts, size] as [batch, sequence, heads * size].
ValueId PackedPart(Builder& b, ValueId x, int64_t at) {
  const Dims d = b.DimsOf(x);
  return b.Reshape(b.SliceAxis(x, 3, at, 1), {d[0], d[1], d[2] * d[4]});
}

// Queries, keys and values that are operands of their own, or packed for each head.
std::vector<ValueId> QueryKeyValue(OpContext& c) {
  Builder& b = c.b;
  const ValueId query = c.In(0);
  const int packed = c.Has(1) ? 1 : 0;
  if (packed == 1 && c.Has(2)) return {query, c.In(1), c.In(2)};
  const ValueId x = c.In(packed);
  const int64_t parts = packed == 0 ? 3 : 2;
  if (c.ok() && (b.RankOf(x) != 5 || b.Dim(x, 3) != parts)) {
    c.Fail("operand " + std::to_string(packed) + " must be [batch, sequence, heads, " +
           std::to_string(parts) + ", size] if the operands after it are left out");
  }
  if (!c.ok()) return {kNoValue, kNoValue, kNoValue};
  if (packed == 0) return {PackedPart(b, x, 0), PackedPart(b, x, 1), PackedPart(b, x, 2)};
  return {query, PackedPart(b, x, 0), PackedPart(b, x, 1)};
}

// Operands: query, key, value, their bias in a row, mask, bias of the scores, past key and value.
void MultiHeadAttention(OpContext& c) {
  Builder& b = c.b;
  if (c.Has(8) || c.Has(9)) return c.Unsupported("a shared cache");
  if (c.Has(6) != c.Has(7)) return c.Fail("a past key needs a past value");
  const int64_t count = c.RequiredInt("num_heads");
  std::vector<ValueId> all = QueryKeyValue(c);
  int64_t at = 0;
  for (ValueId& part : all) {
    if (!c.ok()) return;
    if (b.RankOf(part) == 4) continue;  // split already, as keys of another sequence are
    const int64_t size = b.Dim(part, 2);
    if (c.Has(3)) part = b.Plus(part, b.SliceAxis(c.In(3), 0, at, size));
    at += size;
    part = SplitHeads(c, part, count);
  }
  if (c.ok() && c.Has(6)) {
    if (b.RankOf(c.In(6)) != 4 || b.RankOf(c.In(7)) != 4) {
      return c.Fail("past keys and values must have rank 4");
    }
    all[1] = b.Concat({c.In(6), all[1]}, 2);
    all[2] = b.Concat({c.In(7), all[2]}, 2);
  }
  c.Out(all[1], 1);
  c.Out(all[2], 2);
  OutAttended(c, {all[0], all[1], all[2], 4, 5});
}

// Operands: ids, segment ids, tables of words, positions and segments, scale, shift, mask,
// positions.
void EmbedLayerNormalization(OpContext& c) {
  Builder& b = c.b;
  const ValueId ids = c.In(0);
  if (c.ok() && b.RankOf(ids) != 2) return c.Fail("operand 0 must have rank 2");
  const int64_t batch = b.Dim(ids, 0);
  const int64_t length = b.Dim(ids, 1);
  ValueId sum = b.Gather(c.In(2), ids, 0);
  const ValueId positions = c.In(3);
  sum = b.Plus(sum,
               c.Has(8) ? b.Gather(positions, c.In(8), 0) : b.SliceAxis(positions, 0, 0, length));
  if (c.Has(1) && c.Has(4)) sum = b.Plus(sum, b.Gather(c.In(4), c.In(1), 0));
  c.Out(sum, 2);
  c.Out(LayerNorm(b, {sum, c.In(5), c.In(6)}, 2, c.Float("epsilon", 1e-12)));
  if (!c.IsOutputUsed(1)) return;
  c.Out(c.Has(7) ? b.Reduce("sum", b.Cast(c.In(7), DType::kI32), {1}, false)
                 : b.Expand(b.Scalar(DType::kI32, 0), {batch}),
        1);
}

constexpr OpRow kFusedAttentionRows[] = {
    {"Attention", Attention, 7, 2, "no shared cache, no rotary embedding inside"},
    {"EmbedLayerNormalization", EmbedLayerNormalization, 9, 3},
    {"MultiHeadAttention", MultiHeadAttention, 10, 4, "no shared cache, no scores as a result"},
    {"QAttention", QAttention, 9, 2, "no shared cache, no rotary embedding inside"},
};

}  // namespace

std::span<const OpRow> FusedAttentionOps() { return kFusedAttentionRows; }

}  // namespace mlc::graph::onnx
