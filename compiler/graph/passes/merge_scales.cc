#include "compiler/graph/passes/merge_scales.h"

#include <optional>
#include <utility>
#include <vector>

#include "compiler/graph/byte_product.h"
#include "compiler/graph/passes/fold_constants.h"
#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

// Beyond these, single precision does not hold every integer.
constexpr int64_t kExact = int64_t{1} << 24;
constexpr int64_t kLargestProduct = 255 * 128;
constexpr int kMaxDepth = 16;

// leaf * factor; without factor, the leaf.
struct Term {
  ValueId leaf = kNoValue;
  ValueId factor = kNoValue;
};

// The sum of the terms and of `constant`, and how many nodes computed it.
struct Form {
  std::vector<Term> terms;
  ValueId constant = kNoValue;
  int nodes = 0;
};

class Merger {
 public:
  explicit Merger(Rewriter& rewriter) : rewriter_(rewriter), graph_(rewriter.out()) {}

  // What a node that is computed next stands for; nothing if no leaf is of bytes.
  std::optional<Form> FormOf(const Value& node, int depth) {
    const bool constant = node.operands.size() > 1 && IsConstant(graph_, node.operands[1]);
    if (IsNode(node, ScalarOp::kMul) && constant) {
      return Scaled(FormOf(node.operands[0], depth), node.operands[1]);
    }
    if (IsNode(node, ScalarOp::kAdd) && constant) {
      std::optional<Form> form = FormOf(node.operands[0], depth);
      if (form) form->constant = Sum(form->constant, node.operands[1]);
      return Counted(std::move(form));
    }
    if (IsNode(node, ScalarOp::kFma) && constant && IsConstant(graph_, node.operands[2])) {
      std::optional<Form> form = Scaled(FormOf(node.operands[0], depth), node.operands[1]);
      if (form) form->constant = Sum(form->constant, node.operands[2]);
      return form;
    }
    if (IsNode(node, ScalarOp::kAdd)) return Joined(node, depth);
    return std::nullopt;
  }

  ValueId Emit(const Form& form) {
    ValueId sum = form.constant;
    for (const Term& term : form.terms) {
      if (term.factor == kNoValue) {
        sum = sum == kNoValue ? term.leaf : AddPointwise(graph_, ScalarOp::kAdd, {term.leaf, sum});
      } else if (sum == kNoValue) {
        sum = AddPointwise(graph_, ScalarOp::kMul, {term.leaf, term.factor});
      } else {
        sum = AddPointwise(graph_, ScalarOp::kFma, {term.leaf, term.factor, sum});
      }
    }
    return sum;
  }

  bool IsOfSums(ValueId leaf) const {
    return graph_[graph_[leaf].operands[0]].type.dtype == DType::kI32;
  }

 private:
  static bool IsNode(const Value& node, ScalarOp op) {
    return node.op == Op::kPointwise && node.scalar == op && node.type.dtype == DType::kF32;
  }

  std::optional<Form> FormOf(ValueId id, int depth) {
    if (graph_[id].op == Op::kCast) return Leaf(id);
    if (depth == 0 || rewriter_.Uses(id) != 1) return std::nullopt;
    const Value node = graph_[id];
    return FormOf(node, depth - 1);
  }

  // Codes, or sums of bytes.
  std::optional<Form> Leaf(ValueId id) {
    const ValueId from = graph_[id].operands[0];
    const DType dtype = graph_[from].type.dtype;
    if (graph_[id].type.dtype != DType::kF32) return std::nullopt;
    if (dtype == DType::kU8 || dtype == DType::kI8) return Form{{{id}}};
    if (IsProductOfBytes(graph_, graph_[from])) return Form{{{id}}};
    if (!IsScalarOp(graph_, from, ScalarOp::kSub)) return std::nullopt;
    const ValueId sums = graph_[from].operands[0], less = graph_[from].operands[1];
    if (!IsProductOfBytes(graph_, graph_[sums]) || !IsConstant(graph_, less)) return std::nullopt;
    if (!AreExact(graph_[sums]) || rewriter_.Uses(id) != 1) return Form{{{id}}};
    Form form{{{Cast(sums)}}};
    form.constant = AddFolded(graph_, ScalarOp::kNeg, {FoldedCast(less)});
    form.nodes = 1;
    return form;
  }

  // The zero point's part has as many terms as the sums.
  bool AreExact(const Value& product) const {
    const TensorType& columns = graph_[product.operands[1]].type;
    const size_t dim = product.op == Op::kMatMul ? columns.dims.size() - 1 : 0;
    return columns.NumElements() / columns.dims[dim] * kLargestProduct < kExact;
  }

  ValueId Cast(ValueId x) {
    Value node;
    node.op = Op::kCast;
    node.operands = {x};
    node.type = {DType::kF32, graph_[x].type.dims, {}};
    return AddNode(graph_, std::move(node));
  }

  ValueId FoldedCast(ValueId x) {
    const ValueId id = Cast(x);
    const Value node = graph_[id];
    return TryFold(graph_, node).value_or(id);
  }

  std::optional<Form> Joined(const Value& node, int depth) {
    std::optional<Form> form = FormOf(node.operands[0], depth);
    const std::optional<Form> other = FormOf(node.operands[1], depth);
    if (!form || !other || node.operands[0] == node.operands[1]) return std::nullopt;
    form->terms.insert(form->terms.end(), other->terms.begin(), other->terms.end());
    form->constant = Sum(form->constant, other->constant);
    form->nodes += other->nodes;
    return Counted(std::move(form));
  }

  std::optional<Form> Scaled(std::optional<Form> form, ValueId factor) {
    if (!form) return form;
    for (Term& term : form->terms) term.factor = Product(term.factor, factor);
    if (form->constant != kNoValue) form->constant = Product(form->constant, factor);
    return Counted(std::move(form));
  }

  static std::optional<Form> Counted(std::optional<Form> form) {
    if (form) ++form->nodes;
    return form;
  }

  ValueId Sum(ValueId a, ValueId b) {
    if (a == kNoValue || b == kNoValue) return a == kNoValue ? b : a;
    return AddFolded(graph_, ScalarOp::kAdd, {a, b});
  }

  ValueId Product(ValueId a, ValueId b) {
    return a == kNoValue ? b : AddFolded(graph_, ScalarOp::kMul, {a, b});
  }

  Rewriter& rewriter_;
  Graph& graph_;
};

// Operations that emitting the form takes.
int Operations(const Form& form) {
  int count = form.constant == kNoValue ? -1 : 0;
  for (const Term& term : form.terms) {
    const bool first = count < 0;
    count += first ? (term.factor == kNoValue ? 1 : 2) : 1;
  }
  return count;
}

// The node in fewer operations; nothing if there is no such form. `rounded`: its only reader rounds
// it.
std::optional<ValueId> Merged(Rewriter& rewriter, const Value& node, bool rounded) {
  Merger merger(rewriter);
  const std::optional<Form> form = merger.FormOf(node, kMaxDepth);
  if (!form || Operations(*form) >= form->nodes) return std::nullopt;
  if (!rounded && (form->terms.size() != 1 || !merger.IsOfSums(form->terms[0].leaf))) {
    return std::nullopt;
  }
  const ValueId merged = merger.Emit(*form);
  if (rewriter.out()[merged].type.dims != node.type.dims) return std::nullopt;
  return merged;
}

ValueId Visit(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  if (node.op != Op::kPointwise || node.type.dtype != DType::kF32) return graph.Add(node);
  if (node.scalar == ScalarOp::kRound && rewriter.Uses(node.operands[0]) == 1) {
    const Value operand = graph[node.operands[0]];
    if (const std::optional<ValueId> merged = Merged(rewriter, operand, true)) {
      return AddPointwise(graph, ScalarOp::kRound, {*merged});
    }
  }
  if (const std::optional<ValueId> merged = Merged(rewriter, node, false)) return *merged;
  return graph.Add(node);
}

}  // namespace

Result<bool> MergeScales(Graph& graph) { return Rewriter::Run(graph, Visit); }

}  // namespace mlc::graph
