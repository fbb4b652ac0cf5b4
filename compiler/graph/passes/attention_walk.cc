#include "compiler/graph/passes/attention_walk.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/format.h"
#include "compiler/graph/ops.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// Below this, a score that is hidden adds nothing whatever the scores are.
constexpr double kHidden = -1e4;
// More masks than any network has.
constexpr size_t kMostTerms = 64;
// Operators between two parts, at most.
constexpr int kFarthest = 24;

Dims WithLastTwoSwapped(Dims dims) {
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return dims;
}

bool KeepsLast(const Value& reshape, const Graph& graph, size_t count) {
  const Dims& from = graph[reshape.operands[0]].type.dims;
  const Dims& to = reshape.type.dims;
  return from.size() >= count && to.size() >= count &&
         std::equal(to.end() - static_cast<int64_t>(count), to.end(),
                    from.end() - static_cast<int64_t>(count));
}

bool SwapsLastTwo(const Value& node) {
  if (node.op != Op::kTranspose || node.type.rank() < 2) return false;
  const Dims& perm = node.Ints("perm");
  Dims swapped(perm.size());
  std::iota(swapped.begin(), swapped.end(), 0);
  return perm == WithLastTwoSwapped(std::move(swapped));
}

bool IsCastOfFloats(const Graph& graph, const Value& node) {
  return node.op == Op::kCast && IsFloat(node.type.dtype) &&
         IsFloat(graph[node.operands[0]].type.dtype);
}

// Whether `id` is made of a node of `op` by shape, type and arithmetic alone.
ValueId NearestBelow(const Graph& graph, ValueId id, Op op, int& steps) {
  if (id == kNoValue || ++steps > kFarthest) return kNoValue;
  const Value& node = graph[id];
  if (node.op == op) return id;
  const bool passes = node.op == Op::kPointwise || node.op == Op::kCast ||
                      node.op == Op::kReshape || node.op == Op::kTranspose;
  if (!passes) return kNoValue;
  for (const ValueId operand : node.operands) {
    const ValueId found = NearestBelow(graph, operand, op, steps);
    if (found != kNoValue) return found;
  }
  return kNoValue;
}

ValueId NearestBelow(const Graph& graph, ValueId id, Op op) {
  int steps = 0;
  return NearestBelow(graph, id, op, steps);
}

// A table of weights: its product chooses among what was learned, as gates do, and is no attention.
bool IsTable(const Graph& graph, ValueId id) {
  return IsConstant(graph, id) && graph[id].type.rank() <= 2;
}

bool LooksLikeAttention(const Graph& graph, const Value& product) {
  for (size_t i = 0; i < 2; ++i) {
    const ValueId softmax = NearestBelow(graph, product.operands[i], Op::kSoftmax);
    if (softmax == kNoValue) continue;
    const ValueId scores = NearestBelow(graph, graph[softmax].operands[0], Op::kMatMul);
    return scores != kNoValue && !IsTable(graph, product.operands[1 - i]) &&
           !IsTable(graph, graph[scores].operands[1]);
  }
  return false;
}

class Walk {
 public:
  Walk(const Rewriter& rewriter, const Graph& graph, DType dtype)
      : rewriter_(rewriter), graph_(graph), dtype_(dtype) {}

  // From weights that multiply values from the left.
  void Weights(ValueId id) {
    match_.weight_dims = graph_[id].type.dims;
    Weights(id, kNoValue);
  }

  // From weights [..., keys, queries] that multiply values from the right.
  void TransposedWeights(ValueId id) {
    match_.transposed = swapped_ = true;
    match_.weight_dims = WithLastTwoSwapped(graph_[id].type.dims);
    Weights(id, kNoValue);
  }

  AttentionSearch Result() {
    if (match_.terms.size() > kMostTerms) Refuse("it has more than 64 masks");
    AttentionSearch search;
    search.found = !refused_;
    search.match = std::move(match_);
    search.reason = std::move(reason_);
    return search;
  }

 private:
  void Refuse(std::string reason) {
    refused_ = true;
    reason_ = std::move(reason);
  }

  bool IsReadOnce(ValueId id) const { return rewriter_.Uses(id) == 1; }

  void AddReshape(const Value& node, bool swapped) {
    Dims from = graph_[node.operands[0]].type.dims;
    Dims to = node.type.dims;
    if (swapped) {
      from = WithLastTwoSwapped(std::move(from));
      to = WithLastTwoSwapped(std::move(to));
    }
    match_.steps.push_back({std::move(from), std::move(to), {}});
  }

  // Follows a change of shape or type; false if the node is none.
  bool FollowShape(const Value& node) {
    if (IsCastOfFloats(graph_, node)) {
      const DType below = graph_[node.operands[0]].type.dtype;
      const bool holds = SizeOf(below) > 2 || below == dtype_;
      const bool keeps = SizeOf(node.type.dtype) > 2 || node.type.dtype == dtype_;
      if (!holds || !keeps) Refuse("its weights or scores are rounded to another type");
      return true;
    }
    if (node.op == Op::kReshape) {
      const bool matrices = node.type.rank() >= 2 && graph_[node.operands[0]].type.rank() >= 2;
      if (!matrices || !KeepsLast(node, graph_, swapped_ ? 2 : 1)) {
        Refuse("a reshape splits or joins its keys");
        return true;
      }
      AddReshape(node, swapped_);
      return true;
    }
    if (node.op != Op::kTranspose) return false;
    const Dims& perm = node.Ints("perm");
    const Dims& from = graph_[node.operands[0]].type.dims;
    if (SwapsLastTwo(node)) {
      swapped_ = !swapped_;
    } else if (!swapped_ && perm.back() == node.type.rank() - 1) {
      match_.steps.push_back({from, node.type.dims, perm});
    } else {
      Refuse("a transpose moves its keys");
    }
    return true;
  }

  void Weights(ValueId id, ValueId nan_of) {
    while (!refused_) {
      const Value& node = graph_[id];
      if (node.op == Op::kSoftmax) {
        const int64_t last = node.type.rank() - (swapped_ ? 2 : 1);
        if (node.Int("axis") != last) return Refuse("its softmax is not over the keys");
        if (!IsReadBy(id, nan_of)) return Refuse("its weights have other readers");
        return Scores(node.operands[0]);
      }
      if (!IsReadBy(id, nan_of)) return Refuse("its weights have other readers");
      nan_of = kNoValue;
      if (FollowShape(node)) {
        id = node.operands[0];
      } else if (const ValueId checked = ZeroForNan(node); checked != kNoValue) {
        match_.zero_hidden_rows = true;
        id = checked;
        nan_of = checked;
      } else {
        return RefuseNode(node, "the softmax and the product with the values");
      }
    }
  }

  // Read once, or once more by the check for NaN that selects.
  bool IsReadBy(ValueId id, ValueId nan_of) const {
    return rewriter_.Uses(id) == (nan_of == id ? 2 : 1);
  }

  // x of select(is_nan(x), 0, x) or select(not(is_nan(x)), x, 0).
  ValueId ZeroForNan(const Value& node) const {
    if (node.op != Op::kPointwise || node.scalar != ScalarOp::kSelect) return kNoValue;
    ValueId check = node.operands[0];
    if (!IsReadOnce(check)) return kNoValue;
    size_t kept = 2;
    if (IsScalarOp(graph_, check, ScalarOp::kNot)) {
      check = graph_[check].operands[0];
      kept = 1;
    }
    if (!IsScalarOp(graph_, check, ScalarOp::kIsNan) || !IsReadOnce(check)) return kNoValue;
    const ValueId x = node.operands[kept];
    return graph_[check].operands[0] == x && SplatOf(graph_, node.operands[3 - kept]) == 0.0
               ? x
               : kNoValue;
  }

  void Scores(ValueId id) {
    while (!refused_) {
      const Value& node = graph_[id];
      if (!IsReadOnce(id)) return Refuse("its scores have other readers");
      if (node.op == Op::kMatMul) return AtProduct(node);
      if (FollowShape(node)) {
        id = node.operands[0];
        continue;
      }
      const ValueId below = node.op == Op::kPointwise ? Term(node) : kNoValue;
      if (refused_) return;
      if (below == kNoValue) return RefuseNode(node, "the product with the keys and the softmax");
      if (graph_[below].type.dims != node.type.dims) return Refuse("its scores are broadcast");
      id = below;
    }
  }

  void AtProduct(const Value& node) {
    match_.left = node.operands[0];
    match_.right = node.operands[1];
    match_.product_dims = node.type.dims;
    if (!swapped_) return;
    match_.turned = true;
    match_.product_dims = WithLastTwoSwapped(match_.product_dims);
  }

  // What a pointwise node does to scores: notes it and gives the scores.
  ValueId Term(const Value& node) {
    switch (node.scalar) {
      case ScalarOp::kMul:
        return Factor(node, false);
      case ScalarOp::kDiv:
        return Factor(node, true);
      case ScalarOp::kAdd:
      case ScalarOp::kSub:
        return Sum(node);
      case ScalarOp::kSelect:
        return Selection(node);
      case ScalarOp::kMax:
        return Bound(node);
      default:
        return kNoValue;
    }
  }

  ValueId Factor(const Value& node, bool divides) {
    const ValueId scores = node.operands[0], factor = node.operands[1];
    if (const std::optional<double> number = SplatOf(graph_, factor)) {
      match_.scale = divides ? match_.scale / *number : match_.scale * *number;
      return scores;
    }
    for (size_t i = 0; i < (divides ? 1 : 2); ++i) {
      const ValueId rows = node.operands[1 - i];
      const Dims& dims = graph_[rows].type.dims;
      if (swapped_ || (!dims.empty() && dims.back() != 1)) continue;
      if (graph_[rows].type.dtype != node.type.dtype) continue;
      match_.factors.push_back({rows, divides, match_.steps.size(), node.type.dims});
      return node.operands[i];
    }
    Refuse("its scores are multiplied by a tensor that differs from key to key");
    return kNoValue;
  }

  void Add(ScoreTerm term, const Value& node) {
    if (swapped_) return Refuse("its mask is transposed");
    if (!match_.factors.empty()) return Refuse("its mask is scaled by a tensor");
    if (!(match_.scale > 0)) return Refuse("its mask has a negative factor");
    term.scale = match_.scale;
    term.above = match_.steps.size();
    term.dims = node.type.dims;
    match_.terms.push_back(std::move(term));
  }

  ValueId Sum(const Value& node) {
    const bool subtracts = node.scalar == ScalarOp::kSub;
    const size_t at = subtracts || IsScores(node, 0) || !IsScores(node, 1) ? 0 : 1;
    ScoreTerm term;
    term.value = node.operands[1 - at];
    term.negated = subtracts;
    Add(std::move(term), node);
    return node.operands[at];
  }

  // A product with what scores may pass on their way, in full size and read once.
  bool IsScores(const Value& node, size_t at) const {
    const ValueId id = node.operands[at];
    return graph_[id].type.dims == node.type.dims && IsReadOnce(id) &&
           NearestBelow(graph_, id, Op::kMatMul) != kNoValue;
  }

  ValueId Selection(const Value& node) {
    const size_t at = IsScores(node, 1) ? 1 : 2;
    const std::optional<double> otherwise = SplatOf(graph_, node.operands[3 - at]);
    if (!otherwise) return kNoValue;
    if (!(*otherwise * match_.scale <= kHidden)) {
      Refuse(Format("hidden scores become %g, which does not hide them for certain", *otherwise));
      return kNoValue;
    }
    ScoreTerm term;
    term.kind = ScoreTerm::Kind::kSelect;
    term.value = node.operands[0];
    term.negated = at == 2;
    term.number = *otherwise;
    Add(std::move(term), node);
    return node.operands[at];
  }

  ValueId Bound(const Value& node) {
    const std::optional<double> bound = SplatOf(graph_, node.operands[1]);
    if (!bound) return kNoValue;
    if (!(*bound * match_.scale <= kHidden)) {
      Refuse(Format("its scores are at least %g", *bound));
      return kNoValue;
    }
    ScoreTerm term;
    term.kind = ScoreTerm::Kind::kAtLeast;
    term.number = *bound;
    Add(std::move(term), node);
    return node.operands[0];
  }

  void RefuseNode(const Value& node, const std::string& where) {
    const bool cap = node.op == Op::kPointwise && node.scalar == ScalarOp::kTanh;
    const std::string name(node.op == Op::kPointwise ? InfoOf(node.scalar).name : ToText(node.op));
    Refuse("'" + name + "'" + (cap ? ", a soft cap," : "") + " stands between " + where);
  }

  const Rewriter& rewriter_;
  const Graph& graph_;
  const DType dtype_;
  AttentionMatch match_;
  bool swapped_ = false;  // what is looked at is [..., keys, queries]
  bool refused_ = false;
  std::string reason_;
};

}  // namespace

AttentionSearch FindAttention(const Rewriter& rewriter, const Graph& graph, const Value& product) {
  AttentionSearch none;
  if (product.op != Op::kMatMul || !IsFloat(product.type.dtype)) return none;
  const bool has_keys = graph[product.operands[0]].type.dims.back() > 0;
  if (product.type.NumElements() == 0 || !has_keys) return none;
  if (!LooksLikeAttention(graph, product)) return none;
  const bool left = NearestBelow(graph, product.operands[0], Op::kSoftmax) != kNoValue;
  Walk walk(rewriter, graph, product.type.dtype);
  if (left) {
    walk.Weights(product.operands[0]);
  } else {
    walk.TransposedWeights(product.operands[1]);
  }
  AttentionSearch search = walk.Result();
  search.match.v = product.operands[left ? 1 : 0];
  return search;
}

}  // namespace mlc::graph
