#include "compiler/graph/passes/attention_operands.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "compiler/graph/passes/regroup.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Sums of this and a score are this, whatever the score is, up to a few units.
constexpr double kAbsorbs = -1e9;
// Sums of this or less in halves are rounded to multiples of 32.
constexpr double kRoundsInHalf = -32768;
// Wider heads take more memory of a block than GPUs have.
constexpr int64_t kWidest = 1024;
// So far is a factor of queries or keys looked for below changes of shape.
constexpr size_t kFarthest = 8;

int64_t Product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Without the last `count` dimensions.
Dims Leading(const Dims& dims, size_t count) {
  return {dims.begin(), dims.end() - static_cast<int64_t>(count)};
}

double LowestOf(DType dtype) {
  if (dtype == DType::kF16) return -65504;
  return dtype == DType::kBF16 ? -3.3895313892515355e38 : -3.4028234663852886e38;
}

ValueId CastTo(Graph& graph, ValueId x, DType dtype) {
  Value cast;
  cast.op = Op::kCast;
  cast.operands = {x};
  cast.type = {dtype, graph[x].type.dims, {}};
  return AddSimplified(graph, std::move(cast));
}

// The longest prefix, up to `count` dimensions, that holds `size` elements; -1: none does.
int64_t PrefixOf(const Dims& dims, int64_t size, size_t count) {
  int64_t found = size == 1 ? 0 : -1;
  int64_t product = 1;
  for (size_t i = 0; i < std::min(count, dims.size()); ++i) {
    product *= dims[i];
    if (product == size) found = static_cast<int64_t>(i) + 1;
  }
  return found;
}

// Whether every matrix of scores stays one, in the same order, so that keys go with it.
bool KeepsMatrices(const AttentionMatch& match) {
  const Dims batch = Leading(match.product_dims, 2);
  const int64_t size = Product(batch);
  for (size_t i = match.steps.size(); i-- > 0;) {
    const ScoreStep& step = match.steps[i];
    const int64_t before = PrefixOf(step.from, size, step.from.size() - 2);
    const int64_t after = PrefixOf(step.to, size, step.to.size() - 2);
    if (before < 0 || after < 0) return false;
    if (step.perm.empty()) continue;
    // The first dimensions of more than one element are those of the matrices, in order.
    Dims first;
    for (const int64_t axis : step.perm) {
      if (step.from[static_cast<size_t>(axis)] != 1) first.push_back(axis);
    }
    Dims wanted;
    for (int64_t axis = 0; axis < before; ++axis) {
      if (step.from[static_cast<size_t>(axis)] != 1) wanted.push_back(axis);
    }
    if (first.size() < wanted.size() || !std::equal(wanted.begin(), wanted.end(), first.begin())) {
      return false;
    }
  }
  return PrefixOf(match.weight_dims, size, match.weight_dims.size() - 2) ==
         static_cast<int64_t>(match.weight_dims.size()) - 2;
}

class Operands {
 public:
  Operands(Graph& graph, const AttentionMatch& match) : graph_(graph), match_(match) {}

  std::optional<AttentionOperands> Build(std::string& reason) {
    dtype_ = graph_[match_.v].type.dtype;
    if (dtype_ == DType::kF64) return Refuse(reason, "it computes with doubles");
    if (!KeepsMatrices(match_)) return Refuse(reason, "its heads are reordered or joined");
    lead_ = Leading(match_.weight_dims, 2);
    heads_ = {1, 1};
    for (size_t i = 0; i < lead_.size(); ++i) heads_[i + 1 == lead_.size() ? 1 : 0] *= lead_[i];
    built_.scale = match_.scale;
    if (!BuildKeys() || !BuildValues() || !BuildQueries()) return Refuse(reason, reason_);
    const bool scales = built_.scale > 0 && built_.scale < kInfinity;
    if (!scales) return Refuse(reason, "its scale is not positive");
    BuildMask();
    return built_;
  }

 private:
  static std::nullopt_t Refuse(std::string& reason, std::string why) {
    reason = std::move(why);
    return std::nullopt;
  }

  // Strips numbers that multiply, and casts to a wider type, also below changes of shape.
  std::optional<ValueId> Stripped(ValueId id) {
    std::vector<Value> movement;
    ValueId bottom = id;
    size_t kept = 0;  // of the movement, above what is stripped
    double scale = 1, stripped = 1;
    for (size_t i = 0; i < kFarthest; ++i) {
      const Value& node = graph_[id];
      const bool moves =
          node.op == Op::kTranspose || node.op == Op::kReshape || node.op == Op::kExpand;
      if (moves) {
        movement.push_back(node);
        id = node.operands[0];
      } else if (const std::optional<double> factor = FactorOf(node)) {
        scale *= *factor;
        id = node.operands[0];
        stripped = scale;
        bottom = id;
        kept = movement.size();
      } else if (node.op == Op::kCast && IsFloat(graph_[node.operands[0]].type.dtype) &&
                 node.type.dtype != dtype_ && graph_[node.operands[0]].type.dtype == dtype_) {
        id = bottom = node.operands[0];
        stripped = scale;
        kept = movement.size();
      } else {
        break;
      }
    }
    built_.scale *= stripped;
    movement.resize(kept);
    for (size_t i = kept; i-- > 0;) {
      Value node = movement[i];
      node.operands[0] = bottom;
      node.type.dtype = graph_[bottom].type.dtype;
      bottom = AddSimplified(graph_, std::move(node));
    }
    if (graph_[bottom].type.dtype != dtype_) return std::nullopt;
    return bottom;
  }

  std::optional<double> FactorOf(const Value& node) const {
    if (node.op != Op::kPointwise || node.scalar != ScalarOp::kMul) return std::nullopt;
    if (graph_[node.operands[0]].type.dims != node.type.dims) return std::nullopt;
    return SplatOf(graph_, node.operands[1]);
  }

  bool BuildKeys() {
    const std::optional<ValueId> k = Stripped(match_.turned ? match_.left : match_.right);
    if (!k) return Fail("its queries, keys and values have different types");
    const ValueId rows = match_.turned ? *k : SwapLastTwo(graph_, *k);
    built_.k = Whole(Regroup(graph_, rows, Leading(match_.product_dims, 2), heads_, 2));
    const Dims& dims = graph_[built_.k].type.dims;
    if (dims[3] > kWidest) return Fail("its heads have more than 1024 elements");
    return dims[2] > 0 && dims[3] > 0 ? true : Fail("it has no keys");
  }

  bool BuildValues() {
    const ValueId v = match_.transposed ? SwapLastTwo(graph_, match_.v) : match_.v;
    const Dims lead = Leading(graph_[v].type.dims, 2);
    const Result<Dims> joined = BroadcastDims(lead_, lead);
    if (!joined.ok() || *joined != lead_) return Fail("one matrix of weights serves many values");
    built_.v = Whole(Regroup(graph_, v, lead_, heads_, 2));
    return true;
  }

  bool BuildQueries() {
    const std::optional<ValueId> q = Stripped(match_.turned ? match_.right : match_.left);
    if (!q) return Fail("its queries, keys and values have different types");
    const ValueId rows = match_.turned ? SwapLastTwo(graph_, *q) : *q;
    built_.q = Whole(ToTop(rows, match_.steps.size(), match_.product_dims));
    for (const RowFactor& factor : match_.factors) {
      const ValueId value = CastTo(graph_, ToTop(factor.value, factor.above, factor.dims), dtype_);
      built_.q = SimplifiedPointwise(graph_, factor.divides ? ScalarOp::kDiv : ScalarOp::kMul,
                                     {built_.q, value});
    }
    return true;
  }

  bool Fail(const char* reason) {
    reason_ = reason;
    return false;
  }

  // Batch and heads in full.
  ValueId Whole(ValueId x) {
    Dims dims = graph_[x].type.dims;
    std::copy(heads_.begin(), heads_.end(), dims.begin());
    return SimplifiedExpand(graph_, x, std::move(dims));
  }

  // What broadcasts to scores of shape `dims`, but for the last dimension, through the steps above
  // them, to [batch, heads, queries, ...].
  ValueId ToTop(ValueId x, size_t above, const Dims& dims) {
    x = PadRank(graph_, x, dims.size());
    for (size_t i = above; i-- > 0;) {
      const ScoreStep& step = match_.steps[i];
      x = step.perm.empty() ? Regroup(graph_, x, Leading(step.from, 1), Leading(step.to, 1), 1)
                            : SimplifiedTranspose(graph_, x, step.perm);
    }
    Dims top = heads_;
    top.push_back(match_.weight_dims[lead_.size()]);
    return Regroup(graph_, x, Leading(match_.weight_dims, 1), top, 1);
  }

  // A mask keeps its dimensions where they broadcast as they are.
  ValueId MaskToTop(ValueId x, const ScoreTerm& term) {
    if (term.above == 0 && lead_.size() <= 2) return x;
    return ToTop(x, term.above, term.dims);
  }

  // From the product up: what is added to scores, and what stands instead of them.
  void BuildMask() {
    ValueId mask = kNoValue;
    for (size_t i = match_.terms.size(); i-- > 0;) mask = With(mask, match_.terms[i]);
    if (mask == kNoValue) return;
    if (match_.zero_hidden_rows && MayHide(mask)) {
      const ValueId highest = SimplifiedMax(graph_, PadRank(graph_, mask, 1));
      built_.hidden =
          SimplifiedPointwise(graph_, ScalarOp::kLessEqual,
                              {highest, graph_.Splat(graph_[mask].type.dtype, -kInfinity)});
    }
    built_.mask = Narrowed(mask);
  }

  ValueId With(ValueId mask, const ScoreTerm& term) {
    switch (term.kind) {
      case ScoreTerm::Kind::kAdd:
        return Sum(mask, term);
      case ScoreTerm::Kind::kSelect:
        return Selection(mask, term);
      default: {
        const DType dtype = mask == kNoValue ? dtype_ : graph_[mask].type.dtype;
        const ValueId bound = graph_.Splat(dtype, term.number * term.scale);
        return mask == kNoValue ? mask : SimplifiedPointwise(graph_, ScalarOp::kMax, {mask, bound});
      }
    }
  }

  ValueId Sum(ValueId mask, const ScoreTerm& term) {
    ForgetRoundedRows(term);
    ValueId value = MaskToTop(term.value, term);
    const DType dtype = graph_[value].type.dtype;
    const double scale = term.negated ? -term.scale : term.scale;
    value = SimplifiedPointwise(graph_, ScalarOp::kMul, {value, graph_.Splat(dtype, scale)});
    if (mask == kNoValue) return value;
    const DType wide = Wider(dtype, graph_[mask].type.dtype);
    return SimplifiedPointwise(graph_, ScalarOp::kAdd,
                               {CastTo(graph_, mask, wide), CastTo(graph_, value, wide)});
  }

  // Sums of scores and a number near the lowest half are that number again in halves, but not in
  // the wider type that kernels add in.
  void ForgetRoundedRows(const ScoreTerm& term) {
    const Value node = graph_[term.value];
    const bool selects = node.op == Op::kPointwise && node.scalar == ScalarOp::kSelect;
    if (!selects || node.type.dtype != DType::kF16 || term.negated || term.scale != 1) return;
    for (size_t at = 1; at < 3; ++at) {
      const std::optional<double> number = SplatOf(graph_, node.operands[at]);
      if (!number || *number > kRoundsInHalf || *number == -kInfinity) continue;
      ForgetHiddenRows(MaskToTop(node.operands[0], term), at == 1);
    }
  }

  ValueId Selection(ValueId mask, const ScoreTerm& term) {
    const ValueId condition = MaskToTop(term.value, term);
    if (mask == kNoValue) mask = graph_.Splat(dtype_, 0);
    const double number = term.number * term.scale;
    DType dtype = graph_[mask].type.dtype;
    if (number < LowestOf(dtype) && number != -kInfinity) dtype = DType::kF32;
    mask = CastTo(graph_, mask, dtype);
    const ValueId hidden = graph_.Splat(dtype, number);
    if (number > kAbsorbs) ForgetHiddenRows(condition, term.negated);
    const std::vector<ValueId> operands =
        term.negated ? std::vector{condition, hidden, mask} : std::vector{condition, mask, hidden};
    return SimplifiedPointwise(graph_, ScalarOp::kSelect, operands);
  }

  // Scores of rows whose keys are all hidden are equal, since one number stands for them all. A sum
  // with that number would let differences of the scores through, so such rows query nothing.
  void ForgetHiddenRows(ValueId condition, bool hides) {
    const ValueId one = graph_.Splat(dtype_, 1), zero = graph_.Splat(dtype_, 0);
    const ValueId shown = SimplifiedPointwise(graph_, ScalarOp::kSelect,
                                              {condition, hides ? zero : one, hides ? one : zero});
    if (graph_[shown].type.rank() == 0) return;
    built_.q =
        SimplifiedPointwise(graph_, ScalarOp::kMul, {built_.q, SimplifiedMax(graph_, shown)});
  }

  static DType Wider(DType a, DType b) { return SizeOf(a) >= SizeOf(b) ? a : b; }

  // Whether the mask can hold minus infinity.
  bool MayHide(ValueId id, size_t depth = 0) const {
    const Value& node = graph_[id];
    if (const std::optional<double> number = SplatOf(graph_, id)) return *number == -kInfinity;
    if (IsConstant(graph_, id)) {
      const std::vector<double> values = ReadDoubles(*node.data);
      return std::find(values.begin(), values.end(), -kInfinity) != values.end();
    }
    const bool selects = node.op == Op::kPointwise && node.scalar == ScalarOp::kSelect;
    return !selects || depth == kFarthest || MayHide(node.operands[1], depth + 1) ||
           MayHide(node.operands[2], depth + 1);
  }

  // In the type of the operands. Finite numbers stay finite, since rows that they hide have values.
  ValueId Narrowed(ValueId mask) {
    const DType wide = graph_[mask].type.dtype;
    if (wide == dtype_) return mask;
    const ValueId infinite = graph_.Splat(wide, -kInfinity);
    const ValueId bounded =
        SimplifiedPointwise(graph_, ScalarOp::kMax, {mask, graph_.Splat(wide, LowestOf(dtype_))});
    const ValueId hides = SimplifiedPointwise(graph_, ScalarOp::kLessEqual, {mask, infinite});
    return CastTo(
        graph_, SimplifiedPointwise(graph_, ScalarOp::kSelect, {hides, infinite, bounded}), dtype_);
  }

  Graph& graph_;
  const AttentionMatch& match_;
  AttentionOperands built_;
  const char* reason_ = "";
  DType dtype_ = DType::kF32;
  Dims lead_;   // of the weights
  Dims heads_;  // batch, heads
};

}  // namespace

ValueId SwapLastTwo(Graph& graph, ValueId x) {
  const Value& node = graph[x];
  if (node.op == Op::kReshape) {
    const ValueId below = node.operands[0];
    const Dims from = graph[below].type.dims;
    Dims to = node.type.dims;
    if (from.size() >= 2 && std::equal(to.end() - 2, to.end(), from.end() - 2)) {
      const ValueId swapped = SwapLastTwo(graph, below);
      std::swap(to[to.size() - 1], to[to.size() - 2]);
      return SimplifiedReshape(graph, swapped, std::move(to));
    }
  }
  Dims perm(static_cast<size_t>(node.type.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return SimplifiedTranspose(graph, x, std::move(perm));
}

std::optional<AttentionOperands> BuildOperands(Graph& graph, const AttentionMatch& match,
                                               std::string& reason) {
  return Operands(graph, match).Build(reason);
}

}  // namespace mlc::graph
