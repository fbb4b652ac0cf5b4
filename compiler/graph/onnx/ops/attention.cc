// Attention: grouped heads, caches, masks and windows are resolved around one attention node; the
// forms it does not have (soft caps, the scores as a result) spell it out.
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "compiler/graph/onnx/ops/heads.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMaxLength = int64_t{1} << 20;

}  // namespace

SideBySide ProjectSideBySide(OpContext& c, int rank) {
  Builder& b = c.b;
  const ValueId x = c.In(0);
  const ValueId weights = c.In(1);
  if (c.ok() && (b.RankOf(x) != rank || b.RankOf(weights) != 2)) {
    c.Fail("operands 0 and 1 must have rank " + std::to_string(rank) + " and 2");
    return {};
  }
  const int64_t width = b.Dim(weights, 1);
  Dims sizes = c.Ints("qkv_hidden_sizes", {width / 3, width / 3, width / 3});
  if (!c.ok()) return {};
  if (sizes.size() != 3 || sizes[0] < 1 || sizes[1] != sizes[0] || sizes[2] < 1 ||
      sizes[0] > width || sizes[2] != width - 2 * sizes[0]) {
    c.Fail("the weights do not fit the hidden sizes");
    return {};
  }
  const ValueId all = b.MatMul(x, weights);
  return {c.Has(2) ? b.Plus(all, c.In(2)) : all, std::move(sizes)};
}

ValueId SplitHeads(OpContext& c, ValueId x, int64_t heads) {
  Builder& b = c.b;
  const Dims d = b.DimsOf(x);
  if (c.ok() && (d.size() != 3 || heads < 1 || d[2] % heads != 0)) {
    c.Fail("the number of heads does not divide the hidden size");
  }
  if (!c.ok()) return kNoValue;
  return b.Transpose(b.Reshape(x, {d[0], d[1], heads, d[2] / heads}), {0, 2, 1, 3});
}

ValueId JoinHeads(Builder& b, ValueId x) {
  if (!b.ok()) return kNoValue;
  const Dims d = b.DimsOf(x);
  return b.Reshape(b.Transpose(x, {0, 2, 1, 3}), {d[0], d[2], d[1] * d[3]});
}

ValueId RepeatHeads(Builder& b, ValueId x, int64_t times) {
  if (times == 1 || !b.ok()) return x;
  const Dims d = b.DimsOf(x);
  const ValueId wide =
      b.Expand(b.Reshape(x, {d[0], d[1], 1, d[2], d[3]}), {d[0], d[1], times, d[2], d[3]});
  return b.Reshape(wide, {d[0], d[1] * times, d[2], d[3]});
}

ValueId Numbered(Builder& b, int64_t count) {
  if (count > kMaxLength) {
    return b.Fail(Unimplemented("a mask over more than 2^20 positions is not supported"));
  }
  Dims values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i);
  return b.IntVector(values);
}

ValueId AttendTo(Builder& b, ValueId q, ValueId k, ValueId v, ValueId bias, double scale) {
  Value attention;
  attention.op = Op::kAttention;
  attention.operands = {q, k, v};
  if (bias != kNoValue) attention.operands.push_back(bias);
  attention.attrs["scale"] = scale;
  return b.Add(std::move(attention));
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Operands as [batch, heads, sequence, size], keys and values with the past joined.
struct Heads {
  ValueId q = kNoValue;
  ValueId k = kNoValue;
  ValueId v = kNoValue;
  int64_t past = 0;
  bool flat = false;  // the operands had rank 3
};

bool ReadHeads(OpContext& c, Heads& heads) {
  Builder& b = c.b;
  heads.q = c.In(0);
  heads.k = c.In(1);
  heads.v = c.In(2);
  if (!c.ok()) return false;
  const int rank = b.RankOf(heads.q);
  if ((rank != 3 && rank != 4) || b.RankOf(heads.k) != rank || b.RankOf(heads.v) != rank) {
    c.Fail("operands must all have rank 3 or all rank 4");
    return false;
  }
  heads.flat = rank == 3;
  if (heads.flat) {
    const int64_t q_heads = c.RequiredInt("q_num_heads");
    const int64_t kv_heads = c.RequiredInt("kv_num_heads");
    if (!c.ok()) return false;
    heads.q = SplitHeads(c, heads.q, q_heads);
    heads.k = SplitHeads(c, heads.k, kv_heads);
    heads.v = SplitHeads(c, heads.v, kv_heads);
  }
  if (c.Has(4) != c.Has(5)) c.Fail("a past key needs a past value");
  if (c.Has(4) && c.ok()) {
    if (b.RankOf(c.In(4)) != 4 || b.RankOf(c.In(5)) != 4) c.Fail("past values must have rank 4");
    heads.past = b.Dim(c.In(4), 2);
    heads.k = b.Concat({c.In(4), heads.k}, 2);
    heads.v = b.Concat({c.In(5), heads.v}, 2);
  }
  if (!c.ok()) return false;
  c.Out(heads.k, 1);
  c.Out(heads.v, 2);
  const int64_t q_heads = b.Dim(heads.q, 1);
  const int64_t kv_heads = b.Dim(heads.k, 1);
  if (kv_heads < 1 || q_heads < 1 || q_heads % kv_heads != 0 || b.Dim(heads.v, 1) != kv_heads) {
    c.Fail("the key and value heads do not divide the query heads");
    return false;
  }
  heads.k = RepeatHeads(b, heads.k, q_heads / kv_heads);
  heads.v = RepeatHeads(b, heads.v, q_heads / kv_heads);
  return c.ok();
}

ValueId And(Builder& b, ValueId x, ValueId y) {
  return x == kNoValue ? y : y == kNoValue ? x : b.Apply(ScalarOp::kAnd, {x, y});
}

// Which keys each query may see by position alone; kNoValue: all. Positions of queries follow the
// past, or end with the valid keys of an external cache.
ValueId Visible(OpContext& c, const Heads& heads) {
  Builder& b = c.b;
  const bool causal = c.Flag("is_causal", false);
  const int64_t left = c.Int("left_window_size", -1);
  const int64_t right = c.Int("right_window_size", -1);
  const int64_t queries = b.Dim(heads.q, 2);
  const int64_t keys = b.Dim(heads.k, 2);
  if (!causal && left < 0 && right < 0 && !c.Has(6)) return kNoValue;
  const ValueId key = Numbered(b, keys);
  const ValueId places = b.Reshape(Numbered(b, queries), {queries, 1});
  ValueId query = kNoValue;
  ValueId visible = kNoValue;
  if (c.Has(6)) {
    const ValueId valid = b.Reshape(b.Cast(c.In(6), DType::kI64), {b.Dim(heads.q, 0), 1, 1, 1});
    visible = b.Apply(ScalarOp::kLess, {key, valid});
    if (!c.Has(4)) query = b.Plus(places, b.Minus(valid, b.IntScalar(queries)));
  }
  if (query == kNoValue) query = CountedFrom(b, places, heads.past);
  if (causal) visible = And(b, visible, b.Apply(ScalarOp::kLessEqual, {key, query}));
  if (left >= 0) {
    const ValueId first = b.Minus(query, b.IntScalar(std::min(left, kMaxLength)));
    visible = And(b, visible, b.Apply(ScalarOp::kLessEqual, {first, key}));
  }
  if (right >= 0) {
    const ValueId last = b.Plus(query, b.IntScalar(std::min(right, kMaxLength)));
    visible = And(b, visible, b.Apply(ScalarOp::kLessEqual, {key, last}));
  }
  return visible;
}

// A mask operand that is shorter than the keys masks the rest.
ValueId MaskOperand(OpContext& c, const Heads& heads) {
  Builder& b = c.b;
  const ValueId mask = c.In(3);
  const int64_t keys = b.Dim(heads.k, 2);
  const int rank = b.RankOf(mask);
  const int64_t missing = keys - b.Dim(mask, rank - 1);
  if (!c.ok() || rank < 1 || b.Dim(mask, rank - 1) == 1 || missing <= 0) return mask;
  Dims pads(2 * static_cast<size_t>(rank), 0);
  pads.back() = missing;
  return b.Pad(mask, pads, b.DTypeOf(mask) == DType::kBool ? 0 : -kInfinity);
}

struct Bias {
  ValueId value = kNoValue;
  bool may_hide_rows = false;  // a query may see no key at all
};

Bias ReadBias(OpContext& c, const Heads& heads) {
  Builder& b = c.b;
  const DType type = b.DTypeOf(heads.q);
  Bias bias;
  ValueId visible = Visible(c, heads);
  bias.may_hide_rows = c.Has(6) || c.Int("left_window_size", -1) >= 0;
  if (c.Has(3) && c.ok()) {
    const ValueId mask = MaskOperand(c, heads);
    if (b.DTypeOf(mask) == DType::kBool) {
      visible = And(b, visible, mask);
      bias.may_hide_rows = true;
    } else {
      bias.value = b.Cast(mask, type);
      bias.may_hide_rows = bias.may_hide_rows || visible != kNoValue;
    }
  }
  if (visible == kNoValue || !c.ok()) return bias;
  const ValueId hidden = b.Scalar(type, -kInfinity);
  bias.value = b.Select(visible, bias.value == kNoValue ? b.Scalar(type, 0) : bias.value, hidden);
  return bias;
}

// Zero where the row's bias hides every key.
ValueId ZeroHiddenRows(Builder& b, ValueId bias, ValueId x) {
  const ValueId highest = b.Reduce("max", bias, {b.RankOf(bias) - 1}, true);
  const ValueId hidden = b.Apply(ScalarOp::kEqual, {highest, b.ScalarLike(bias, -kInfinity)});
  return b.Select(hidden, b.ScalarLike(x, 0), x);
}

// softmax(cap(scale q k^T) + bias) v step by step, with the scores as the fourth result.
ValueId SpelledOut(OpContext& c, const Heads& heads, const Bias& bias, double scale) {
  Builder& b = c.b;
  const DType type = b.DTypeOf(heads.q);
  const int64_t mode = c.Int("qk_matmul_output_mode", 0);
  const double cap = c.Float("softcap", 0);
  const double root = std::sqrt(scale);
  const ValueId keys = b.Transpose(b.TimesNumber(heads.k, root), {0, 1, 3, 2});
  ValueId scores = b.MatMul(b.TimesNumber(heads.q, root), keys);
  if (mode == 0) c.Out(scores, 3);
  if (cap > 0) {
    const ValueId limit = b.ScalarLike(scores, cap);
    scores = b.Times(b.Apply(ScalarOp::kTanh, {b.Over(scores, limit)}), limit);
  }
  if (mode == 1) c.Out(scores, 3);
  if (bias.value != kNoValue) scores = b.Plus(scores, bias.value);
  if (mode == 2) c.Out(scores, 3);
  const DType precise = type == DType::kF64 ? type : DType::kF32;
  ValueId weights = b.Softmax(b.Cast(scores, precise), 3);
  if (bias.may_hide_rows) weights = ZeroHiddenRows(b, b.Cast(scores, precise), weights);
  weights = b.Cast(weights, type);
  if (mode == 3) c.Out(weights, 3);
  return b.MatMul(weights, heads.v);
}

void Attention(OpContext& c) {
  Builder& b = c.b;
  Heads heads;
  if (!ReadHeads(c, heads)) return;
  const int64_t size = b.Dim(heads.q, 3);
  if (size < 1) return c.Fail("the heads are empty");
  const double scale = c.Float("scale", 1 / std::sqrt(static_cast<double>(size)));
  if (!(scale >= 0)) return c.Unsupported("a negative scale");
  const Bias bias = ReadBias(c, heads);
  if (!c.ok()) return;
  ValueId y = kNoValue;
  if (c.IsOutputUsed(3) || c.Float("softcap", 0) > 0) {
    y = SpelledOut(c, heads, bias, scale);
  } else {
    y = AttendTo(b, heads.q, heads.k, heads.v, bias.value, scale);
    if (bias.may_hide_rows) y = ZeroHiddenRows(b, bias.value, y);
  }
  if (heads.flat) y = JoinHeads(b, y);
  c.Out(y);
}

constexpr OpRow kAttentionRows[] = {
    {"Attention", Attention, 7, 4, "no negative scale; masks over at most 2^20 positions"}};

}  // namespace

std::span<const OpRow> AttentionOps() { return kAttentionRows; }

}  // namespace mlc::graph::onnx
