// A pass: a function on a graph that verifies before and after. Thread-safe: passes have no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

struct Pass {
  std::string_view name;
  std::string_view contract;  // the postcondition in one line, for display
  // True if it changed the graph. An error leaves the graph in an unspecified but valid state.
  Result<bool> (*run)(Graph&);
  // Messages for the user, one line each: what resembles the pattern of the pass but was left
  // unchanged, and why.
  std::vector<std::string> (*left_alone)(const Graph&) = nullptr;
};

}  // namespace mlc::graph
