#include "compiler/graph/passes/recognize_attention.h"

#include <utility>

#include "compiler/graph/passes/attention_operands.h"
#include "compiler/graph/passes/attention_walk.h"
#include "compiler/graph/passes/grouped_heads.h"
#include "compiler/graph/passes/regroup.h"
#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

ValueId ZeroHidden(Graph& graph, ValueId hidden, ValueId x) {
  if (hidden == kNoValue) return x;
  return SimplifiedPointwise(graph, ScalarOp::kSelect,
                             {hidden, graph.Splat(graph[x].type.dtype, 0), x});
}

// The node that replaces the product with the values; null, and a reason if it is like attention.
std::optional<ValueId> Attend(Rewriter& rewriter, const Value& node, std::string& reason) {
  Graph& graph = rewriter.out();
  const AttentionSearch search = FindAttention(rewriter, graph, node);
  reason = search.reason;
  if (!search.found) return std::nullopt;
  const std::optional<AttentionOperands> built = BuildOperands(graph, search.match, reason);
  if (!built) return std::nullopt;
  Value attention;
  attention.op = Op::kAttention;
  attention.operands = {built->q, built->k, built->v};
  if (built->mask != kNoValue) attention.operands.push_back(built->mask);
  attention.attrs["scale"] = built->scale;
  ValueId result = AddAttention(graph, std::move(attention));
  result = ZeroHidden(graph, built->hidden, result);
  if (!search.match.transposed) return SimplifiedReshape(graph, result, node.type.dims);
  return SimplifiedReshape(graph, SwapLastTwo(graph, result), node.type.dims);
}

ValueId Visit(Rewriter& rewriter, const Value& node) {
  if (node.op == Op::kAttention) return AddAttention(rewriter.out(), node);
  std::string reason;
  if (node.op == Op::kMatMul) {
    if (const std::optional<ValueId> attention = Attend(rewriter, node, reason)) return *attention;
  }
  return rewriter.out().Add(node);
}

}  // namespace

Result<bool> RecognizeAttention(Graph& graph) { return Rewriter::Run(graph, Visit); }

std::vector<std::string> UnfusedAttention(const Graph& graph) {
  std::vector<std::string> notes;
  Graph copy = graph;
  Rewriter::Run(copy, [&](Rewriter& rewriter, const Value& node) {
    std::string reason;
    if (node.op == Op::kMatMul && !Attend(rewriter, node, reason) && !reason.empty()) {
      const std::string name = node.name.empty() ? "attention" : "attention '" + node.name + "'";
      notes.push_back(name + " is not fused: " + reason);
    }
    return rewriter.out().Add(node);
  });
  return notes;
}

}  // namespace mlc::graph
