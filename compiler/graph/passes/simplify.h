// simplify: local algebra, one rule per row of a table. Before: any graph; best after
// fold_constants, since rules look for constants. After: no rule applies; constants are the last
// operands of commutative operators, scalar constants are rank-0 splats, subtraction of and
// division by constants are gone. Rules do not depend on readers and never change what a model
// computes beyond the rounding of a merged constant.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "compiler/graph/graph.h"

namespace mlc::graph {

Result<bool> Simplify(Graph& graph);

// The replacement of a node that is not in the graph yet, or null.
struct SimplifyRule {
  std::string_view name;
  std::optional<ValueId> (*apply)(Graph&, const Value&);
};
std::span<const SimplifyRule> PointwiseRules();
std::span<const SimplifyRule> MovementRules();
std::span<const SimplifyRule> ScatterRules();

// Adds the node in simplified form, for rules whose results may be simplified again.
ValueId AddSimplified(Graph& graph, Value node);

}  // namespace mlc::graph
