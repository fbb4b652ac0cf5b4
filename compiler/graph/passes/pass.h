// What a pass is: a function on a graph that verifies before and after. Thread-safe: passes keep no
// state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

struct Pass {
  std::string_view name;
  std::string_view contract;  // one line for people: what holds afterwards
  // True if it changed the graph. An error leaves the graph in an unspecified but valid state.
  Result<bool> (*run)(Graph&);
  // For people: what the pass left as it is although it looks like its work, and why, a line each.
  std::vector<std::string> (*left_alone)(const Graph&) = nullptr;
};

}  // namespace mlc::graph
