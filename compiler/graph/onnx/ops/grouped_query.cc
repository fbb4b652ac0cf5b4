// GroupQueryAttention of language models (domain com.microsoft): causal attention with a cache of
// keys and values whose filled length is an operand of the node.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/graph/onnx/ops/heads.h"
#include "compiler/graph/onnx/ops/norms.h"
#include "compiler/graph/onnx/ops/rotary.h"
#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

// Operands of the node.
enum Operand : int {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastPlace,  // of each batch's keys
  kTotal,
  kCosine,
  kSine,
  kPositions,
  kBias,
  kSink,
  kKeyScale,
  kValueScale,
  kQueryNorm,
  kKeyNorm,
  kQueryLengths,
};

struct GroupedHeads {
  int64_t batch = 0;
  int64_t queries = 0;  // of a batch
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t size = 0;        // of a head
  int64_t total = 0;       // the most keys of a batch, with the new ones
  int64_t capacity = 0;    // positions of the cache that comes out
  bool is_prompt = false;  // the first tokens: nothing is cached yet
  // All that is cached counts, and what comes out is exactly longer by the new tokens.
  bool grows = false;
  ValueId q = kNoValue;  // [batch, heads, sequence, size], as all three
  ValueId k = kNoValue;
  ValueId v = kNoValue;
  ValueId first = kNoValue;  // the position of each batch's first query: i64[batch, 1]
};

bool RefuseForms(OpContext& c) {
  const auto refuse = [&](bool is_given, const char* what) {
    if (is_given && c.ok()) c.Unsupported(what);
  };
  refuse(c.Has(kKeyScale) || c.Has(kValueScale), "a quantised cache");
  refuse(c.Text("k_quant_type", "NONE") != "NONE" || c.Text("v_quant_type", "NONE") != "NONE",
         "a quantised cache");
  refuse(c.Has(kQueryLengths), "a length of each query (query_seqlens)");
  refuse(c.Flag("sliding_window_cache", false), "a cache of the window alone");
  refuse(c.Int("qk_output", 0) != 0, "the scores as a result (qk_output)");
  if (c.Has(kPastKey) != c.Has(kPastValue)) c.Fail("a past key needs a past value");
  if (c.Has(kKey) != c.Has(kValue)) c.Fail("a key needs a value");
  if (c.Has(kQueryNorm) != c.Has(kKeyNorm)) c.Fail("a norm of queries needs one of keys");
  return c.ok();
}

// Queries, keys and values by heads, from three operands or from one that holds them side by side.
void SplitOperands(OpContext& c, GroupedHeads& heads) {
  Builder& b = c.b;
  const ValueId query = c.In(kQuery);
  if (c.ok() && b.RankOf(query) != 3) return c.Fail("the query must have rank 3");
  heads.batch = b.Dim(query, 0);
  heads.queries = b.Dim(query, 1);
  heads.q_heads = c.RequiredInt("num_heads");
  heads.kv_heads = c.RequiredInt("kv_num_heads");
  if (!c.ok()) return;
  constexpr int64_t kMaxHeads = 1 << 20;
  if (heads.kv_heads < 1 || heads.q_heads < 1 || heads.q_heads > kMaxHeads ||
      heads.q_heads % heads.kv_heads != 0) {
    return c.Fail("kv_num_heads=" + std::to_string(heads.kv_heads) +
                  " does not divide num_heads=" + std::to_string(heads.q_heads));
  }
  const bool is_packed = !c.Has(kKey);
  const int64_t parts = heads.q_heads + (is_packed ? 2 * heads.kv_heads : 0);
  const int64_t width = b.Dim(query, 2);
  if (width % parts != 0 || width == 0) {
    return c.Fail("a query of " + std::to_string(width) + " elements does not hold " +
                  std::to_string(parts) + " heads");
  }
  heads.size = width / parts;
  const int64_t q_width = heads.q_heads * heads.size;
  const int64_t kv_width = heads.kv_heads * heads.size;
  const ValueId q = is_packed ? b.SliceAxis(query, 2, 0, q_width) : query;
  const ValueId k = is_packed ? b.SliceAxis(query, 2, q_width, kv_width) : c.In(kKey);
  const ValueId v = is_packed ? b.SliceAxis(query, 2, q_width + kv_width, kv_width) : c.In(kValue);
  const Dims expected = {heads.batch, heads.queries, kv_width};
  if (c.ok() && (b.DimsOf(k) != expected || b.DimsOf(v) != expected)) {
    return c.Fail("the keys and values must have " + std::to_string(kv_width) +
                  " elements for each of the query's tokens");
  }
  heads.q = SplitHeads(c, q, heads.q_heads);
  heads.k = SplitHeads(c, k, heads.kv_heads);
  heads.v = SplitHeads(c, v, heads.kv_heads);
}

// How much is cached and where the new tokens go.
void ReadLengths(OpContext& c, GroupedHeads& heads) {
  Builder& b = c.b;
  const Dims total = c.IntsIn(kTotal);
  if (c.ok() && total.size() != 1) return c.Fail("total_sequence_length must be one number");
  if (!c.ok()) return;
  if (total[0] < heads.queries) {
    return c.Fail("total_sequence_length=" + std::to_string(total[0]) + " is less than the " +
                  std::to_string(heads.queries) + " tokens of the query");
  }
  heads.total = total[0];
  int64_t cached = 0;
  if (c.Has(kPastKey)) {
    cached = b.Dim(c.In(kPastKey), 2);
    const Dims expected = {heads.batch, heads.kv_heads, cached, heads.size};
    if (b.DimsOf(c.In(kPastKey)) != expected || b.DimsOf(c.In(kPastValue)) != expected) {
      return c.Fail("past keys and values must be [batch, kv_num_heads, positions, head size]");
    }
  }
  // Of one sequence, the most keys are its keys. Reads at several sizes are to have the same nodes,
  // also where nothing is cached.
  heads.grows = ReadsSeveralSizes(b) && heads.batch == 1 && c.Has(kPastKey) &&
                cached + heads.queries == total[0];
  heads.is_prompt = !heads.grows && total[0] == heads.queries;
  if (!heads.is_prompt && cached + heads.queries < total[0]) {
    return c.Fail("the cache holds " + std::to_string(cached) +
                  " positions, too few for total_sequence_length=" + std::to_string(total[0]));
  }
  heads.capacity = std::max(cached, total[0]);
  const ValueId last = b.Cast(c.In(kLastPlace), DType::kI64);
  if (c.ok() && b.TypeOf(last).NumElements() != heads.batch) {
    return c.Fail("seqlens_k must have one entry a batch");
  }
  const ValueId end = b.Plus(b.Reshape(last, {heads.batch, 1}), b.IntScalar(1));
  const ValueId first = b.Max(b.Minus(end, b.IntScalar(heads.queries)), b.IntScalar(0));
  heads.first = heads.is_prompt ? b.Expand(b.IntScalar(0), {heads.batch, 1}) : first;
}

// i64[batch, queries]
ValueId PositionsOf(Builder& b, const GroupedHeads& heads) {
  return b.Plus(heads.first, Numbered(b, heads.queries));
}

void Rotate(OpContext& c, GroupedHeads& heads) {
  Builder& b = c.b;
  if (!c.Flag("do_rotary", false)) return;
  ValueId positions = PositionsOf(b, heads);
  if (c.Has(kPositions)) {
    positions = b.Cast(c.In(kPositions), DType::kI64);
    if (c.ok() && b.TypeOf(positions).NumElements() != heads.batch * heads.queries) {
      return c.Fail("position_ids must have one entry a token");
    }
    positions = b.Reshape(positions, {heads.batch, heads.queries});
  }
  const auto angles = [&](int operand) {
    const ValueId cache = c.In(operand);
    if (c.ok() && b.RankOf(cache) != 2) c.Fail("the caches of angles must have rank 2");
    if (c.ok() && heads.is_prompt && b.Dim(cache, 0) < heads.queries) {
      c.Fail("the caches have angles for " + std::to_string(b.Dim(cache, 0)) +
             " positions, fewer than the query has tokens");
    }
    const ValueId at = b.Gather(cache, positions, 0);
    return b.Reshape(at, {heads.batch, 1, heads.queries, b.Dim(cache, 1)});
  };
  const Rotation rotation = {angles(kCosine), angles(kSine), c.Flag("rotary_interleaved", false)};
  heads.q = Rotated(b, heads.q, rotation);
  heads.k = Rotated(b, heads.k, rotation);
}

void NormaliseHeads(OpContext& c, GroupedHeads& heads) {
  if (!c.Has(kQueryNorm)) return;
  const double epsilon = c.Float("qk_norm_epsilon", 1e-6);
  const Dims expected = {heads.size};
  if (c.b.DimsOf(c.In(kQueryNorm)) != expected || c.b.DimsOf(c.In(kKeyNorm)) != expected) {
    return c.Fail("the norms' weights must have one entry for each element of a head");
  }
  heads.q = RmsNorm(c.b, heads.q, c.In(kQueryNorm), 3, c.Float("q_norm_epsilon", epsilon));
  heads.k = RmsNorm(c.b, heads.k, c.In(kKeyNorm), 3, c.Float("k_norm_epsilon", epsilon));
}

// The cache with the new tokens written where each batch's first one belongs.
ValueId Cached(OpContext& c, const GroupedHeads& heads, int past, ValueId added) {
  Builder& b = c.b;
  if (!c.ok()) return kNoValue;
  const Dims dims = b.DimsOf(added);
  const int64_t cached = c.Has(past) ? b.Dim(c.In(past), 2) : 0;
  if (heads.grows) return b.Concat({c.In(past), added}, 2);
  if (heads.is_prompt) {
    if (cached <= heads.queries) return added;
    const int64_t rest = cached - heads.queries;
    return b.Concat({added, b.SliceAxis(c.In(past), 2, heads.queries, rest)}, 2);
  }
  const ValueId cache = b.Pad(c.In(past), {0, 0, 0, 0, 0, 0, heads.capacity - cached, 0}, 0);
  const ValueId places = b.Reshape(PositionsOf(b, heads), {heads.batch, 1, heads.queries, 1});
  Value scatter;
  scatter.op = Op::kScatterElements;
  scatter.operands = {cache, b.Expand(places, dims), added};
  scatter.attrs["axis"] = int64_t{2};
  return b.Add(std::move(scatter));
}

// Which of `keys` positions each query sees: [batch or 1, 1, queries, keys]; kNoValue: all.
ValueId SeenKeys(OpContext& c, const GroupedHeads& heads, int64_t keys) {
  Builder& b = c.b;
  const int64_t window = c.Int("local_window_size", -1);
  const bool is_causal = c.Flag("causal", true);
  const ValueId key = Numbered(b, keys);
  // A prompt's positions are known, so that its mask is a constant.
  ValueId query = heads.is_prompt
                      ? b.Reshape(Numbered(b, heads.queries), {heads.queries, 1})
                      : b.Reshape(PositionsOf(b, heads), {heads.batch, 1, heads.queries, 1});
  if (!is_causal) {
    if (window > 0) c.Fail("local_window_size needs causal=1");
    const ValueId last = b.Reshape(b.Cast(c.In(kLastPlace), DType::kI64), {heads.batch, 1, 1, 1});
    return b.Apply(ScalarOp::kLessEqual, {key, last});
  }
  const ValueId seen = b.Apply(ScalarOp::kLessEqual, {key, query});
  if (window <= 0 || window >= keys) return seen;
  const ValueId before = b.Minus(query, b.IntScalar(window));
  return b.Apply(ScalarOp::kAnd, {seen, b.Apply(ScalarOp::kLess, {before, key})});
}

// The bias operand, of which the first `keys` positions count.
ValueId BiasOf(OpContext& c, int64_t keys) {
  Builder& b = c.b;
  const ValueId bias = c.In(kBias);
  const int64_t width = b.Dim(bias, 3);
  if (c.ok() && (b.RankOf(bias) != 4 || width < 1 || (width != 1 && width < keys))) {
    c.Fail("the bias of the scores must have rank 4 and an entry for each of " +
           std::to_string(keys) + " keys");
  }
  if (!c.ok() || width == 1 || width == keys) return bias;
  return b.SliceAxis(bias, 3, 0, keys);
}

// softmax of the scores held by the cap, with the sink's weight among those it divides by.
ValueId SpelledOut(OpContext& c, const GroupedHeads& heads, ValueId bias, double scale,
                   double cap) {
  Builder& b = c.b;
  const DType type = b.DTypeOf(heads.q);
  const ValueId keys = b.Transpose(heads.k, {0, 1, 3, 2});
  ValueId scores = b.Cast(b.MatMul(b.TimesNumber(heads.q, scale), keys), DType::kF32);
  if (cap > 0) {
    const ValueId held = b.Apply(ScalarOp::kTanh, {b.TimesNumber(scores, 1 / cap)});
    scores = b.TimesNumber(held, cap);
  }
  scores = b.Plus(scores, b.Cast(bias, DType::kF32));
  const bool has_sink = c.Has(kSink) || c.Int("smooth_softmax", 0) == 1;
  if (has_sink && c.ok()) {
    const Dims column = {heads.batch, heads.q_heads, heads.queries, 1};
    if (c.Has(kSink) && b.TypeOf(c.In(kSink)).NumElements() != heads.q_heads) {
      c.Fail("head_sink must have one entry for each head of the query");
    }
    const ValueId sink = c.Has(kSink)
                             ? b.Reshape(b.Cast(c.In(kSink), DType::kF32), {1, heads.q_heads, 1, 1})
                             : b.Scalar(DType::kF32, 0);
    scores = b.Concat({scores, b.Expand(sink, column)}, 3);
  }
  ValueId weights = b.Softmax(scores, 3);
  if (has_sink) weights = b.SliceAxis(weights, 3, 0, b.Dim(heads.k, 2));
  return b.MatMul(b.Cast(weights, type), heads.v);
}

void Attend(OpContext& c, GroupedHeads heads) {
  Builder& b = c.b;
  double scale = c.Float("scale", 0);
  const double cap = c.Float("softcap", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(heads.size));
  if (!(scale > 0) || !(cap >= 0)) return c.Fail("scale and softcap must not be negative");
  const int64_t keys = b.Dim(heads.k, 2);
  const ValueId seen = SeenKeys(c, heads, keys);
  const DType type = b.DTypeOf(heads.q);
  const ValueId shown = c.Has(kBias) ? b.Cast(BiasOf(c, keys), type) : b.Scalar(type, 0);
  const ValueId hidden = b.Scalar(type, -std::numeric_limits<double>::infinity());
  const ValueId bias = b.Select(seen, shown, hidden);
  heads.k = RepeatHeads(b, heads.k, heads.q_heads / heads.kv_heads);
  heads.v = RepeatHeads(b, heads.v, heads.q_heads / heads.kv_heads);
  const bool is_plain = cap == 0 && !c.Has(kSink) && c.Int("smooth_softmax", 0) != 1;
  const ValueId y = is_plain ? AttendTo(b, heads.q, heads.k, heads.v, bias, scale)
                             : SpelledOut(c, heads, bias, scale, cap);
  c.Out(JoinHeads(b, y));
}

void GroupQueryAttention(OpContext& c) {
  GroupedHeads heads;
  if (!RefuseForms(c)) return;
  SplitOperands(c, heads);
  if (c.ok()) ReadLengths(c, heads);
  if (c.ok()) NormaliseHeads(c, heads);
  if (c.ok()) Rotate(c, heads);
  const ValueId keys = Cached(c, heads, kPastKey, heads.k);
  const ValueId values = Cached(c, heads, kPastValue, heads.v);
  if (!c.ok()) return;
  c.Out(keys, 1);
  c.Out(values, 2);
  if (heads.grows) {
    heads.k = keys;
    heads.v = values;
  } else if (!heads.is_prompt) {
    heads.k = c.b.SliceAxis(keys, 2, 0, heads.total);
    heads.v = c.b.SliceAxis(values, 2, 0, heads.total);
  }
  Attend(c, heads);
}

constexpr OpRow kGroupedQueryRows[] = {
    {"GroupQueryAttention", GroupQueryAttention, 17, 4,
     "a constant total_sequence_length; no quantised or windowed cache, no scores as a result"},
};

}  // namespace

std::span<const OpRow> GroupedQueryOps() { return kGroupedQueryRows; }

}  // namespace mlc::graph::onnx
