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

// The result of attention of groups, of one batch, or of batches that were joined to heads, with
// its heads brought to the end: transposed before it is joined, so that the result can be written
// in that order.
std::optional<ValueId> JoinedHeads(Graph& graph, const Value& node) {
  if (node.op != Op::kTranspose) return std::nullopt;
  const std::vector<int64_t>& perm = node.Ints("perm");
  const bool flat = perm == std::vector<int64_t>{1, 0, 2};
  if (!flat && perm != std::vector<int64_t>{0, 2, 1, 3}) return std::nullopt;
  const Value& reshape = graph[node.operands[0]];
  if (reshape.op != Op::kReshape) return std::nullopt;
  const ValueId below = reshape.operands[0];
  const bool zeroed = IsScalarOp(graph, below, ScalarOp::kSelect);
  if (!IsOp(graph, zeroed ? graph[below].operands[2] : below, Op::kAttention)) return std::nullopt;
  std::vector<int64_t> in = graph[below].type.dims, out = reshape.type.dims;
  if (flat) out.insert(out.begin(), 1);
  if (in.size() != 4 || out != std::vector<int64_t>{1, in[0] * in[1], in[2], in[3]}) {
    return std::nullopt;
  }
  return SimplifiedReshape(graph, SimplifiedTranspose(graph, below, {2, 0, 1, 3}), node.type.dims);
}

ValueId Visit(Rewriter& rewriter, const Value& node) {
  if (const std::optional<ValueId> joined = JoinedHeads(rewriter.out(), node)) return *joined;
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
