// Gives the graph of a class what its needs ask for: masks that depend on the true lengths, which
// are one more input of the graph. Pure.
#pragma once

#include <span>

#include "base/status.h"
#include "compiler/graph/ranged/needs.h"

namespace mlc::graph {

// The name of the input that holds the lengths: i32[count], the last one of the graph.
inline constexpr char kLengthsInput[] = "lengths";

struct MaskedNeed {
  Need need;
  int length = 0;  // its place among the lengths

  friend bool operator==(const MaskedNeed&, const MaskedNeed&) = default;
};

// What a need's length is in the graph itself: a size without this need has it, too.
int64_t LengthIn(const Graph& graph, const Need& need);

// Masks are exact: with lengths as long as the graph's own, results are those of the graph. The
// input is added even if no need reads it. REQUIRES: the needs are of this graph.
Status AddLengthMasks(Graph& graph, std::span<const MaskedNeed> needs, int64_t count);

// The same with lengths that the graph computes: i32[1] each, by number. No input is added.
Status AddLengthMasks(Graph& graph, std::span<const MaskedNeed> needs,
                      std::span<const ValueId> lengths);

}  // namespace mlc::graph
