// Assigns memory to every computed value: the model output if it is one, else a range of the arena,
// where values with disjoint lifetimes share bytes. Greedy: largest first, best fit; offsets are
// multiples of 64 bytes. If the rules allow it, a pointwise task writes over an operand of the same
// layout that it reads last. Pure; thread-safe.
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

// Offsets, multiples of 64 bytes, so that intervals that overlap in time do not overlap in memory.
std::vector<int64_t> PlaceIntervals(const std::vector<Interval>& intervals);

}  // namespace mlc::graph
