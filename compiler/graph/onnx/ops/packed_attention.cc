// Attention of a batch whose sequences stand without padding one behind the other (domain
// com.microsoft). The tokens are put at their places in the padded batch, whose keys beyond a
// sequence are masked; results come from the same places.
#include <cmath>
#include <limits>

#include "compiler/graph/onnx/ops/heads.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// The tokens' places in the padded batch, and what the padded scores add.
struct Packing {
  ValueId places = kNoValue;  // i64[tokens, 1]
  int64_t tokens = 0;
  int64_t batch = 0;
  int64_t length = 0;  // of a padded sequence
  ValueId bias = kNoValue;
};

// `offsets` lists the places of the padded batch, those with tokens first; `ends` has where each
// sequence ends among the tokens, after a 0; `bias` may be absent.
Packing ReadPacking(OpContext& c, int64_t tokens, DType type, int offsets, int ends, int bias) {
  Builder& b = c.b;
  Packing packing;
  packing.tokens = tokens;
  const ValueId all = c.In(offsets);
  if (c.ok() && b.RankOf(all) != 2) c.Fail("the token offsets must be [batch, sequence]");
  packing.batch = b.Dim(all, 0);
  packing.length = b.Dim(all, 1);
  const int64_t padded = packing.batch * packing.length;
  if (c.ok() && tokens > padded) c.Fail("there are more tokens than places in the padded batch");
  if (c.ok() && b.DimsOf(c.In(ends)) != Dims{packing.batch + 1}) {
    c.Fail("the cumulative sequence lengths must be [batch + 1]");
  }
  if (!c.ok()) return packing;
  const ValueId flat = b.Reshape(b.Cast(all, DType::kI64), {padded});
  packing.places = b.Reshape(b.SliceAxis(flat, 0, 0, tokens), {tokens, 1});
  const ValueId sums = b.Cast(c.In(ends), DType::kI64);
  const ValueId lengths =
      b.Minus(b.SliceAxis(sums, 0, 1, packing.batch), b.SliceAxis(sums, 0, 0, packing.batch));
  const ValueId seen = b.Apply(
      ScalarOp::kLess, {Numbered(b, packing.length), b.Reshape(lengths, {packing.batch, 1, 1, 1})});
  // Not minus infinity: a sequence without tokens has scores, too, which no result reads.
  const double hidden = type == DType::kF16 ? -65504 : std::numeric_limits<float>::lowest();
  packing.bias =
      b.Select(seen, c.Has(bias) ? c.In(bias) : b.Scalar(type, 0), b.Scalar(type, hidden));
  return packing;
}

// [tokens, width] as [batch, length, width], with zeros where no token is.
ValueId Padded(Builder& b, const Packing& packing, ValueId x) {
  const int64_t width = b.Dim(x, 1);
  Value scatter;
  scatter.op = Op::kScatterND;
  scatter.operands = {b.Expand(b.ScalarLike(x, 0), {packing.batch * packing.length, width}),
                      packing.places, x};
  scatter.attrs["reduction"] = std::string("none");
  return b.Reshape(b.Add(std::move(scatter)), {packing.batch, packing.length, width});
}

void OutPacked(OpContext& c, const Packing& packing, ValueId q, ValueId k, ValueId v) {
  Builder& b = c.b;
  const int64_t count = c.RequiredInt("num_heads");
  if (!c.ok()) return;
  const ValueId queries = SplitHeads(c, Padded(b, packing, q), count);
  const ValueId keys = SplitHeads(c, Padded(b, packing, k), count);
  const ValueId values = SplitHeads(c, Padded(b, packing, v), count);
  if (!c.ok()) return;
  const int64_t size = b.Dim(queries, 3);
  if (size < 1) return c.Fail("the heads are empty");
  double scale = c.Float("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size));
  if (!(scale > 0)) return c.Unsupported("a negative scale");
  const ValueId y = JoinHeads(b, AttendTo(b, queries, keys, values, packing.bias, scale));
  const ValueId rows = b.Reshape(y, {packing.batch * packing.length, b.Dim(y, 2)});
  c.Out(b.Gather(rows, b.Reshape(packing.places, {packing.tokens}), 0));
}

// Operands: tokens [tokens, hidden], weights of q, k and v side by side, their bias, token offsets,
// cumulative sequence lengths, bias of the scores.
void PackedAttention(OpContext& c) {
  Builder& b = c.b;
  const auto [all, sizes] = ProjectSideBySide(c, 2);
  if (!c.ok()) return;
  const Packing packing = ReadPacking(c, b.Dim(all, 0), b.DTypeOf(all), 3, 4, 5);
  if (!c.ok()) return;
  OutPacked(c, packing, b.SliceAxis(all, 1, 0, sizes[0]), b.SliceAxis(all, 1, sizes[0], sizes[1]),
            b.SliceAxis(all, 1, 2 * sizes[0], sizes[2]));
}

// Operands: query, key, value [tokens, hidden], or [tokens, heads, 3, size] in place of the three;
// their bias in a row, token offsets, cumulative sequence lengths, bias of the scores.
void PackedMultiHeadAttention(OpContext& c) {
  Builder& b = c.b;
  std::vector<ValueId> all = {c.In(0), kNoValue, kNoValue};
  const Dims dims = b.DimsOf(all[0]);
  if (!c.ok()) return;
  if (c.Has(1) != c.Has(2)) return c.Fail("a key needs a value");
  if (c.Has(1)) {
    all[1] = c.In(1);
    all[2] = c.In(2);
  } else {
    if (dims.size() != 4 || dims[2] != 3) {
      return c.Fail("operand 0 must be [tokens, heads, 3, size] if the key is left out");
    }
    for (int64_t k = 2; k >= 0; --k) {
      all[static_cast<size_t>(k)] =
          b.Reshape(b.SliceAxis(all[0], 2, k, 1), {dims[0], dims[1] * dims[3]});
    }
  }
  int64_t at = 0;
  for (ValueId& part : all) {
    if (c.ok() && b.RankOf(part) != 2) c.Fail("queries, keys and values must be [tokens, hidden]");
    if (!c.ok()) return;
    const int64_t size = b.Dim(part, 1);
    if (c.Has(3)) part = b.Plus(part, b.SliceAxis(c.In(3), 0, at, size));
    at += size;
  }
  const Packing packing = ReadPacking(c, dims[0], b.DTypeOf(all[0]), 4, 5, 6);
  if (c.ok()) OutPacked(c, packing, all[0], all[1], all[2]);
}

constexpr OpRow kPackedAttentionRows[] = {
    {"PackedAttention", PackedAttention, 6, 1},
    {"PackedMultiHeadAttention", PackedMultiHeadAttention, 7, 1},
};

}  // namespace

std::span<const OpRow> PackedAttentionOps() { return kPackedAttentionRows; }

}  // namespace mlc::graph::onnx
