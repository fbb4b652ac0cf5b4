// LinearAttention: a state of keys and values that each token decays, corrects and reads. Tokens
// are unrolled; equal steps are one task.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/onnx/tables.h"

namespace mlc::graph::onnx {
namespace {

constexpr int64_t kMostTokens = 4096;

struct Linear {
  int64_t batch = 0, tokens = 0, groups = 0, times = 0, depth = 0, width = 0;
  double scale = 0;
  ValueId q = kNoValue;      // [batch, tokens, groups, times, depth]
  ValueId k = kNoValue;      // [batch, tokens, groups, depth, 1]
  ValueId v = kNoValue;      // [batch, tokens, groups, 1, width]
  ValueId decay = kNoValue;  // factors [batch, tokens, groups, depth or 1, 1]; kNoValue: none
  ValueId beta = kNoValue;   // [batch, tokens, groups or 1, 1, 1]; kNoValue: nothing is corrected
};

// The operand as real numbers of shape [batch, tokens, ...].
ValueId Split(OpContext& c, const Linear& l, int operand, Dims heads) {
  heads.insert(heads.begin(), {l.batch, l.tokens});
  return c.b.Reshape(c.b.Cast(c.In(operand), DType::kF32), std::move(heads));
}

// Sizes from queries, keys and values; false after an error.
bool ReadSizes(OpContext& c, Linear& l) {
  Builder& b = c.b;
  const int64_t heads = c.RequiredInt("q_num_heads");
  l.groups = c.RequiredInt("kv_num_heads");
  for (int i = 0; i < 3; ++i) {
    if (c.ok() && b.RankOf(c.In(i)) != 3) c.Fail("operands 0 to 2 must have rank 3");
  }
  if (!c.ok()) return false;
  l.batch = b.Dim(c.In(0), 0);
  l.tokens = b.Dim(c.In(0), 1);
  if (l.groups < 1 || heads < 1 || heads % l.groups != 0) {
    c.Fail("q_num_heads must be a multiple of kv_num_heads, both 1 or more");
    return false;
  }
  l.times = heads / l.groups;
  l.depth = b.Dim(c.In(0), 2) / heads;
  l.width = b.Dim(c.In(2), 2) / l.groups;
  const bool fits = b.DimsOf(c.In(0)) == Dims{l.batch, l.tokens, heads * l.depth} &&
                    b.DimsOf(c.In(1)) == Dims{l.batch, l.tokens, l.groups * l.depth} &&
                    b.DimsOf(c.In(2)) == Dims{l.batch, l.tokens, l.groups * l.width};
  if (!fits || l.depth == 0 || l.width == 0) {
    c.Fail("queries, keys and values do not fit the heads and each other");
  } else if (l.tokens > kMostTokens || l.tokens < 1) {
    c.Unsupported("a sequence of " + std::to_string(l.tokens) + " tokens");
  }
  return c.ok();
}

void ReadDecay(OpContext& c, Linear& l) {
  const int64_t given = c.b.Dim(c.In(4), 2);
  const int64_t each = given == l.groups ? 1 : l.depth;
  if (c.ok() && c.b.DimsOf(c.In(4)) != Dims{l.batch, l.tokens, l.groups * each}) {
    return c.Fail(
        "the decay must have a number for each head of keys, or for each of its elements");
  }
  l.decay = c.b.Apply(ScalarOp::kExp, {Split(c, l, 4, {l.groups, each, 1})});
}

void ReadBeta(OpContext& c, Linear& l) {
  const int64_t groups = c.b.Dim(c.In(5), 2) == 1 ? 1 : l.groups;
  if (c.ok() && c.b.DimsOf(c.In(5)) != Dims{l.batch, l.tokens, groups}) {
    return c.Fail("the update rate must have a number for each head of keys, or one for all");
  }
  l.beta = Split(c, l, 5, {groups, 1, 1});
}

bool ReadOperands(OpContext& c, Linear& l) {
  if (!ReadSizes(c, l)) return false;
  const std::string rule = c.Text("update_rule", "gated_delta");
  const bool decays = rule == "gated" || rule == "gated_delta";
  const bool corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects && rule != "linear") {
    c.Fail("update_rule must be linear, gated, delta or gated_delta");
    return false;
  }
  l.q = Split(c, l, 0, {l.groups, l.times, l.depth});
  l.k = Split(c, l, 1, {l.groups, l.depth, 1});
  l.v = Split(c, l, 2, {l.groups, 1, l.width});
  if (decays) ReadDecay(c, l);
  if (corrects) ReadBeta(c, l);
  l.scale = c.Float("scale", 0);
  if (l.scale == 0) l.scale = 1 / std::sqrt(static_cast<double>(l.depth));
  return c.ok();
}

// Of one token, without the dimension of tokens.
ValueId Token(Builder& b, ValueId x, int64_t token) {
  Dims dims = b.DimsOf(x);
  dims.erase(dims.begin() + 1);
  return b.Reshape(b.SliceAxis(x, 1, token, 1), std::move(dims));
}

// The state [batch, groups, depth, width] after a token.
ValueId Next(Builder& b, const Linear& l, ValueId state, int64_t token) {
  const ValueId k = Token(b, l.k, token);
  ValueId written = Token(b, l.v, token);
  if (l.decay != kNoValue) state = b.Times(state, Token(b, l.decay, token));
  if (l.beta != kNoValue) {
    const ValueId row = b.Reshape(k, {l.batch, l.groups, 1, l.depth});
    written = b.Times(Token(b, l.beta, token), b.Minus(written, b.MatMul(row, state)));
  }
  return b.Plus(state, b.Times(k, written));
}

void LinearAttention(OpContext& c) {
  Builder& b = c.b;
  Linear l;
  if (!ReadOperands(c, l)) return;
  const DType dtype = b.DTypeOf(c.In(0));
  const Dims dims = {l.batch, l.groups, l.depth, l.width};
  ValueId state = b.Expand(b.Scalar(DType::kF32, 0), dims);
  if (c.Has(3)) {
    state = b.Cast(c.In(3), DType::kF32);
    if (b.DimsOf(state) != dims) {
      return c.Fail("the state must be [batch, kv_num_heads, depth, width]");
    }
  }
  std::vector<ValueId> rows;
  for (int64_t token = 0; token < l.tokens && c.ok(); ++token) {
    state = Next(b, l, state, token);
    const ValueId read = b.MatMul(Token(b, l.q, token), state);
    rows.push_back(b.Reshape(read, {l.batch, 1, l.groups * l.times * l.width}));
  }
  c.Out(b.Cast(b.TimesNumber(b.Concat(std::move(rows), 1), l.scale), dtype));
  c.Out(b.Cast(state, dtype), 1);
}

constexpr OpRow kLinearAttentionRows[] = {
    {"LinearAttention", LinearAttention, 6, 2, "at most 4096 tokens"}};

}  // namespace

std::span<const OpRow> LinearAttentionOps() { return kLinearAttentionRows; }

}  // namespace mlc::graph::onnx
