// Rules of arithmetic: products, windows, reductions.
#include <limits>
#include <optional>
#include <string>

#include "compiler/graph/ranged/prefix_rules.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph::prefix {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Status RefuseAxis(const NodePair& pair, int k, int axis, const char* what) {
  return pair.Refuse("axis " + std::to_string(axis) + " of operand " + std::to_string(k) +
                     ", whose length varies, is " + what);
}

// Windows of the same positions; the operand ends where the padding begins, which holds `fill`.
Status ProveWindows(const NodePair& pair, double fill) {
  const std::vector<int64_t>& exact = pair.exact().Ints("pads");
  const std::vector<int64_t>& padded = pair.padded().Ints("pads");
  const int spatial = pair.rank(0) - 2;
  for (int s = 0; s < spatial; ++s) {
    const auto begin = static_cast<size_t>(s), end = static_cast<size_t>(s + spatial);
    if (exact[begin] != padded[begin]) return pair.Refuse("its first window depends on the size");
    if (!pair.differs(0, s + 2) && exact[end] != padded[end]) {
      return pair.Refuse("its windows depend on the size");
    }
    pair.Mask(0, s + 2, fill);
  }
  return {};
}

bool AnySpatialDiffers(const NodePair& pair) {
  for (int a = 2; a < pair.rank(0); ++a) {
    if (pair.differs(0, a) || pair.result_differs(a)) return true;
  }
  return false;
}

// What elements beyond the length count as; empty: there is no such number.
std::optional<double> NeutralOf(const std::string& kind, bool is_float) {
  if (kind == "prod") return 1;
  if (kind != "max" && kind != "min" && kind != "log_sum_exp") return 0;
  if (!is_float) return std::nullopt;
  return kind == "min" ? kInfinity : -kInfinity;
}

bool IsZero(const Value& value) {
  if (value.op != Op::kConstant) return false;
  if (value.data == nullptr) return value.Float("value") == 0;
  return value.type.NumElements() == 1 && ReadDoubles(*value.data).front() == 0;
}

// Of a selection between what is zero beyond the length and zero, such as that of weights of which
// none counted.
uint32_t ZeroBeyondBoth(const NodePair& pair) {
  uint32_t zero = ~uint32_t{0};
  for (int k = 1; k < 3; ++k) {
    if (IsZero(pair.exact_operand(k))) continue;
    const bool is_whole = pair.padded_operand(k).type.dims == pair.padded().type.dims;
    zero &= is_whole ? pair.ZeroBeyond(k) : 0;
  }
  return zero;
}

}  // namespace

Status ProvePointwise(const NodePair& pair) {
  for (int k = 0; k < pair.operand_count(); ++k) MLC_TRY(CheckBroadcast(pair, k, 0));
  const ScalarOp op = pair.exact().scalar;
  if (op == ScalarOp::kSelect) pair.SetZeroBeyond(ZeroBeyondBoth(pair));
  const bool divides = op == ScalarOp::kDiv || op == ScalarOp::kMod;
  if (divides && !IsFloat(pair.exact_operand(1).type.dtype) && pair.any_differs(1)) {
    return pair.Refuse("it divides by whole numbers that may be zero beyond the length");
  }
  return {};
}

Status ProveMatMul(const NodePair& pair) {
  if (pair.rank(0) < 2 || pair.rank(1) < 2) return ProveWhole(pair);
  if (pair.has(2)) return pair.Refuse("it multiplies scaled blocks");
  MLC_TRY(CheckBroadcast(pair, 0, 2));
  MLC_TRY(CheckBroadcast(pair, 1, 2));
  for (int k = 0; k < 2; ++k) {
    const int depth = pair.rank(k) - (k == 0 ? 1 : 2);
    if (!pair.IsZeroBeyond(k, depth)) pair.Mask(k, depth, 0);
  }
  return {};
}

Status ProveConv(const NodePair& pair) {
  if (pair.any_differs(1)) return pair.Refuse("its filters depend on the size");
  if (pair.differs(0, 1)) return RefuseAxis(pair, 0, 1, "that of channels");
  return ProveWindows(pair, 0);
}

Status ProvePool(const NodePair& pair) {
  const bool is_max = pair.exact().Word("kind") == "max";
  if (!AnySpatialDiffers(pair)) {
    return pair.same("pads") ? Status() : pair.Refuse("its windows depend on the size");
  }
  if (!is_max) return pair.Refuse("it averages windows along an axis whose length varies");
  if (!IsFloat(pair.exact().type.dtype)) {
    return pair.Refuse("it takes the greatest whole number along an axis whose length varies");
  }
  return ProveWindows(pair, -kInfinity);
}

Status ProveAttention(const NodePair& pair) {
  for (int k = 0; k < 3; ++k) {
    if (pair.differs(k, 3)) return RefuseAxis(pair, k, 3, "that of a head");
    for (int a = 0; a < 2; ++a) {
      // Heads of keys may serve several heads of queries.
      if (pair.of(k, a) != pair.of(0, a) && (pair.differs(k, a) || pair.differs(0, a))) {
        return RefuseAxis(pair, k, a, "shared by several heads");
      }
    }
  }
  if (pair.has(3)) MLC_TRY(CheckBroadcast(pair, 3, 1));
  if (pair.has(3) && pair.rank(3) > 0) {
    const int last = pair.rank(3) - 1;
    if (pair.of(3, last) == 1 && pair.in(3, last) != 1 && pair.of(1, 2) != 1) {
      return RefuseAxis(pair, 3, last, "repeated");
    }
  }
  if (!pair.differs(1, 2)) return {};
  pair.Mask(1, 2, 0);
  pair.Mask(2, 2, 0);
  pair.Require(Need::Kind::kScores, 1, 2, pair.of(1, 2));
  return {};
}

Status ProveReduce(const NodePair& pair) {
  const std::string& kind = pair.exact().Word("kind");
  const bool is_float = IsFloat(pair.exact_operand(0).type.dtype);
  for (const int64_t at : pair.exact().Ints("axes")) {
    const int axis = static_cast<int>(at);
    if (!pair.differs(0, axis)) continue;
    const std::optional<double> neutral = NeutralOf(kind, is_float);
    if (!neutral) return pair.Refuse("its " + kind + " of whole numbers has a length that varies");
    pair.Mask(0, axis, *neutral);
    if (kind != "mean") continue;
    if (!is_float) return pair.Refuse("its mean of whole numbers has a length that varies");
    pair.Require(Need::Kind::kMean, 0, axis, pair.of(0, axis));
  }
  return {};
}

Status ProveArg(const NodePair& pair) {
  const int axis = static_cast<int>(pair.exact().Int("axis"));
  if (!pair.differs(0, axis)) return {};
  if (!IsFloat(pair.exact_operand(0).type.dtype) || pair.exact().Int("select_last") != 0) {
    return RefuseAxis(pair, 0, axis, "searched for the last place or for whole numbers");
  }
  pair.Mask(0, axis, pair.exact().Word("kind") == "max" ? -kInfinity : kInfinity);
  return {};
}

Status ProveSoftmax(const NodePair& pair) {
  const int axis = static_cast<int>(pair.exact().Int("axis"));
  pair.Mask(0, axis, -kInfinity);
  const bool is_zero = pair.exact().op == Op::kSoftmax && pair.differs(0, axis);
  pair.SetZeroBeyond(is_zero ? uint32_t{1} << axis : 0);
  return {};
}

Status ProveLayerNorm(const NodePair& pair) {
  for (int a = static_cast<int>(pair.exact().Int("axis")); a < pair.rank(0); ++a) {
    if (pair.differs(0, a)) return RefuseAxis(pair, 0, a, "normalised");
  }
  for (int k = 1; k < pair.operand_count(); ++k) {
    if (pair.has(k)) MLC_TRY(CheckBroadcast(pair, k, 0));
  }
  return {};
}

Status ProveCumSum(const NodePair& pair) {
  if (pair.exact().Int("reverse") != 0) pair.Mask(0, static_cast<int>(pair.exact().Int("axis")), 0);
  return {};
}

}  // namespace mlc::graph::prefix
