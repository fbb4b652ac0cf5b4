// Gives every computed value its place: in a model output when it is one, else in the arena, where
// values whose lifetimes do not meet share bytes. Greedy, largest first, best fit; offsets are
// multiples of 64. Where the rules allow it, a pointwise task writes over an operand of the same
// layout that dies with it.
// Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/physical/extract_tasks.h"
#include "compiler/graph/physical/place_rules.h"
#include "compiler/graph/program.h"

namespace mlc::graph {

struct MemoryPlan {
  std::vector<Placement> places;  // per value of the graph; meaningful for calls' outputs
  int64_t arena_bytes = 0;
  int64_t unshared_bytes = 0;
};

MemoryPlan PlanMemory(const Graph& graph, const TaskList& list, const PlaceRules& rules = {});

// A range of bytes needed during the steps [first, last].
struct Interval {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

// Offsets, multiples of 64, such that intervals that meet in time do not overlap in place.
std::vector<int64_t> PlaceIntervals(const std::vector<Interval>& intervals);

}  // namespace mlc::graph
