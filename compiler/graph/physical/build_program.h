// From a simplified logical graph to a Program: the physical passes in their order. The list in
// build_program.cc is the table of contents of this folder. Pure; thread-safe.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/physical/place_rules.h"
#include "compiler/graph/program.h"

namespace mlc::graph {

// The step of the partition into tasks that may be left out.
inline constexpr std::string_view kFuseResiduals = "fuse_residuals";

struct PhysicalReport {
  std::string_view pass;
  double milliseconds = 0;
  bool changed = true;
};

struct PhysicalOptions {
  // Of every workload; see workload.h.
  double tolerance = 1e-4;
  // Of products whose rows the model lets be rounded to 8 bits, if it is larger.
  double rounded_tolerance = 0;
  // Of products of float8, if it is larger.
  double float8_tolerance = 0;
  PlaceRules rules;
  bool fuse_residuals = true;  // see partition.h
  // Called with the graph after each pass.
  std::function<void(const PhysicalReport& report, const Graph& graph)> after_pass;
};

// The passes in order. The last one is the partition into tasks, which does not change the graph.
std::span<const std::string_view> PhysicalPassNames();

// Builds the program. REQUIRES: the graph verifies. INVALID_ARGUMENT if it contains a kView, kCopy
// or kWeight, or a constant without its data; INTERNAL for bugs.
Result<Program> BuildPhysical(Graph graph, const PhysicalOptions& options);

}  // namespace mlc::graph
