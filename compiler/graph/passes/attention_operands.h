// Builds the operands of attention from a match: queries, keys, values and mask of logical shape
// [batch, heads, length, depth]. Not thread-safe, as Graph.
#pragma once

#include <optional>
#include <string>

#include "compiler/graph/passes/attention_walk.h"

namespace mlc::graph {

struct AttentionOperands {
  ValueId q = kNoValue;
  ValueId k = kNoValue;
  ValueId v = kNoValue;
  ValueId mask = kNoValue;    // kNoValue: none
  ValueId hidden = kNoValue;  // [..., queries, 1]: true for rows that become zero; kNoValue: none
  double scale = 1;
};

// Null, and `reason` set as AttentionSearch's, if the operands do not fit one attention node.
std::optional<AttentionOperands> BuildOperands(Graph& graph, const AttentionMatch& match,
                                               std::string& reason);

// Swaps the last two dimensions: `x` of shape [..., m, n] becomes [..., n, m].
ValueId SwapLastTwo(Graph& graph, ValueId x);

}  // namespace mlc::graph
