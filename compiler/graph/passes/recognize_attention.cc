#include "compiler/graph/passes/recognize_attention.h"

#include <utility>

#include "compiler/graph/passes/attention_operands.h"
#include "compiler/graph/passes/attention_walk.h"
#include "compiler/graph/passes/grouped_heads.h"
#include "compiler/graph/passes/regroup.h"
#include "compiler/graph/passes/rewrite.h"

namespace mlc::graph {

namespace {

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
  if (built->hidden != kNoValue) result = ZeroRows(graph, built->hidden, result);
  if (!search.match.transposed) return SimplifiedReshape(graph, result, node.type.dims);
  return SimplifiedReshape(graph, SwapLastTwo(graph, result), node.type.dims);
}

// select(rows, 0, attention), as the importer writes it.
bool ZeroesRows(const Rewriter& rewriter, const Graph& graph, const Value& node) {
  if (node.op != Op::kPointwise || node.scalar != ScalarOp::kSelect) return false;
  const ValueId x = node.operands[2];
  if (SplatOf(graph, node.operands[1]) != 0.0 || graph[x].op != Op::kReshape) return false;
  const std::vector<int64_t>& rows = graph[node.operands[0]].type.dims;
  return graph[graph[x].operands[0]].op == Op::kAttention && rewriter.Uses(x) == 1 &&
         graph[x].type.dims == node.type.dims && !rows.empty() && rows.size() <= 4 &&
         rows.back() == 1;
}

ValueId Visit(Rewriter& rewriter, const Value& node) {
  if (ZeroesRows(rewriter, rewriter.out(), node)) {
    return ZeroRows(rewriter.out(), node.operands[0], node.operands[2]);
  }
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
