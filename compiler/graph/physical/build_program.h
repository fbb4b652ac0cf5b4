// From a simplified logical graph to a Program: the physical passes in their order. The list in
// build_program.cc is the table of contents of this folder. Pure; thread-safe.
#pragma once

#include <functional>
#include <string_view>

#include "compiler/base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/program.h"

namespace mlc::graph {

struct PhysicalOptions {
  // Of every workload; see workload.h.
  double tolerance = 1e-4;
  // Called with the graph after each pass, by name: "sink-views", "layout",
  // "place-concats", "lower-views".
  std::function<void(std::string_view pass, const Graph& graph)> after_pass;
};

// REQUIRES: the graph verifies and holds no kView, kCopy or kWeight. INTERNAL for bugs alone.
Result<Program> BuildPhysical(Graph graph, const PhysicalOptions& options);

}  // namespace mlc::graph
