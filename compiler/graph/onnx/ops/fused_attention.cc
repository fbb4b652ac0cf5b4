// Attention and embeddings as ONNX Runtime's optimizer fuses them (domain com.microsoft).
#include <cmath>

#include "compiler/graph/onnx/ops/heads.h"
#include "compiler/graph/onnx/ops/norms.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// Heads as [batch, heads, sequence, size], and which operands of the node mask them.
struct FusedHeads {
  ValueId q = kNoValue;
  ValueId k = kNoValue;
  ValueId v = kNoValue;
  int mask = 0;
  int bias = 0;
};

ValueId Sum(Builder& b, ValueId x, ValueId y) { return x == kNoValue ? y : b.Plus(x, y); }

// True where a key counts: the mask holds a row's length, or one flag a key, or one a pair.
ValueId Kept(OpContext& c, ValueId mask, int64_t batch, int64_t keys) {
  Builder& b = c.b;
  const Dims d = b.DimsOf(mask);
  if (d == Dims{batch}) {
    const ValueId length = b.Reshape(b.Cast(mask, DType::kI64), {batch, 1, 1, 1});
    return b.Apply(ScalarOp::kLess, {Numbered(b, keys), length});
  }
  const ValueId flag = b.Cast(mask, DType::kBool);
  if (d == Dims{batch, keys}) return b.Reshape(flag, {batch, 1, 1, keys});
  if (d.size() == 3 && d[2] == keys) return b.Reshape(flag, {d[0], 1, d[1], keys});
  c.Unsupported("a mask of this shape");
  return kNoValue;
}

// What is added to the scores; kNoValue: nothing.
ValueId ScoreBias(OpContext& c, const FusedHeads& heads) {
  Builder& b = c.b;
  const DType type = b.DTypeOf(heads.q);
  const int64_t queries = b.Dim(heads.q, 2);
  const int64_t keys = b.Dim(heads.k, 2);
  if (!c.ok()) return kNoValue;
  const ValueId hidden = b.Scalar(type, c.Float("mask_filter_value", -10000));
  ValueId bias = kNoValue;
  if (c.Has(heads.mask)) {
    const ValueId kept = Kept(c, c.In(heads.mask), b.Dim(heads.q, 0), keys);
    bias = b.Select(kept, b.Scalar(type, 0), hidden);
  }
  if (c.Flag("unidirectional", false)) {
    const ValueId query = b.PlusNumber(Numbered(b, queries), double(keys - queries));
    const ValueId seen =
        b.Apply(ScalarOp::kLessEqual, {Numbered(b, keys), b.Reshape(query, {queries, 1})});
    bias = Sum(b, bias, b.Select(seen, b.Scalar(type, 0), hidden));
  }
  if (c.Has(heads.bias)) bias = Sum(b, bias, c.In(heads.bias));
  return bias;
}

void OutAttended(OpContext& c, const FusedHeads& heads) {
  Builder& b = c.b;
  if (!c.ok()) return;
  const int64_t size = b.Dim(heads.q, 3);
  if (size < 1) return c.Fail("the heads are empty");
  double scale = c.Float("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  if (!(scale > 0)) return c.Unsupported("a negative scale");
  const ValueId bias = ScoreBias(c, heads);
  c.Out(JoinHeads(b, AttendTo(b, heads.q, heads.k, heads.v, bias, scale)));
}

// Operands: x, weights of q, k and v side by side, their bias, mask, past, bias of the scores.
void Attention(OpContext& c) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId weights = c.In(1);
  const int64_t count = c.RequiredInt("num_heads");
  if (c.Has(4)) return c.Unsupported("a past state");
  if (c.Flag("do_rotary", false)) return c.Unsupported("a rotary embedding inside");
  if (c.ok() && (b.RankOf(x) != 3 || b.RankOf(weights) != 2)) {
    return c.Fail("operands 0 and 1 must have rank 3 and 2");
  }
  const int64_t width = b.Dim(weights, 1);
  const Dims sizes = c.Ints("qkv_hidden_sizes", {width / 3, width / 3, width / 3});
  if (!c.ok()) return;
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[1] != sizes[0] || sizes[2] < 1 ||
      sizes[0] > width || sizes[2] != width - 2 * sizes[0]) {
    return c.Fail("the weights do not fit the hidden sizes");
  }
  ValueId all = b.MatMul(x, weights);
  if (c.Has(2)) all = b.Plus(all, c.In(2));
  FusedHeads heads;
  heads.q = SplitHeads(c, b.SliceAxis(all, 2, 0, sizes[0]), count);
  heads.k = SplitHeads(c, b.SliceAxis(all, 2, sizes[0], sizes[1]), count);
  heads.v = SplitHeads(c, b.SliceAxis(all, 2, sizes[0] + sizes[1], sizes[2]), count);
  if (c.IsOutputUsed(1) && c.ok()) {
    Dims both = b.DimsOf(heads.k);
    both.insert(both.begin(), 1);
    if (b.DimsOf(heads.v) != b.DimsOf(heads.k)) return c.Unsupported("this present state");
    c.Out(b.Concat({b.Reshape(heads.k, both), b.Reshape(heads.v, both)}, 0), 1);
  }
  heads.mask = 3;
  heads.bias = 5;
  OutAttended(c, heads);
}

// Operands: query, key, value, their bias in a row, mask, bias of the scores, past key and value.
void MultiHeadAttention(OpContext& c) {
  Builder& b = c.b;
  if (!c.Has(1) || !c.Has(2)) return c.Unsupported("packed operands");
  if (c.OperandCount() > 8 && (c.Has(8) || c.Has(9))) return c.Unsupported("a shared cache");
  const int64_t count = c.RequiredInt("num_heads");
  ValueId all[3] = {c.In(0), c.In(1), c.In(2)};
  int64_t at = 0;
  for (ValueId& part : all) {
    if (!c.ok()) return;
    if (b.RankOf(part) == 4) continue;  // split already, as keys of another sequence are
    const int64_t size = b.Dim(part, 2);
    if (c.Has(3)) part = b.Plus(part, b.SliceAxis(c.In(3), 0, at, size));
    at += size;
    part = SplitHeads(c, part, count);
  }
  if (c.Has(6) && c.Has(7)) {
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
    {"Attention", Attention, 7, 2, "no past state, no rotary embedding inside"},
    {"EmbedLayerNormalization", EmbedLayerNormalization, 9, 3},
    {"MultiHeadAttention", MultiHeadAttention, 10, 4, "no packed operands, no shared cache"},
};

}  // namespace

std::span<const OpRow> FusedAttentionOps() { return kFusedAttentionRows; }

}  // namespace mlc::graph::onnx
