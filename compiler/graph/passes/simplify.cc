#include "compiler/graph/passes/simplify.h"

#include "compiler/graph/passes/fold_constants.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/shape.h"

namespace mlc::graph {

namespace {

std::optional<ValueId> ApplyFirst(Graph& graph, const Value& node) {
  for (const std::span<const SimplifyRule> rules :
       {PointwiseRules(), MovementRules(), ScatterRules()}) {
    for (const SimplifyRule& rule : rules) {
      if (const std::optional<ValueId> id = rule.apply(graph, node)) return id;
    }
  }
  return std::nullopt;
}

}  // namespace

ValueId AddSimplified(Graph& graph, Value node) {
  // The type first: rules read it.
  std::vector<const TensorType*> operands;
  for (const ValueId id : node.operands) {
    operands.push_back(id == kNoValue ? nullptr : &graph[id].type);
  }
  if (Result<TensorType> type = InferType(node, operands); type.ok()) node.type = *std::move(type);
  if (const std::optional<ValueId> folded = TryFold(graph, node)) return *folded;
  if (const std::optional<ValueId> id = ApplyFirst(graph, node)) return *id;
  return AddNode(graph, std::move(node));
}

Result<bool> Simplify(Graph& graph) {
  return Rewriter::Run(graph, [](Rewriter& rewriter, const Value& node) {
    if (const std::optional<ValueId> id = ApplyFirst(rewriter.out(), node)) return *id;
    return rewriter.out().Add(node);
  });
}

}  // namespace mlc::graph
