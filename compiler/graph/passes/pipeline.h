// The ordered list of passes, and the function that runs it. Thread-safe.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/passes/pass.h"

namespace mlc::graph {

// The passes in order; a pass may occur more than once.
std::span<const Pass> Passes();

struct PassOptions {
  std::set<std::string, std::less<>> skip;  // names of passes to leave out
  // Called after each pass whose name is in `print_after` ("all": after every one).
  std::set<std::string, std::less<>> print_after;
  std::function<void(const Pass&, const Graph&)> print;
  // Checks the graph after every pass; an error names the pass and is INTERNAL.
  bool verify = true;
};

struct PassReport {
  std::string_view name;
  bool changed = false;
  double milliseconds = 0;
  int values_before = 0;
  int values_after = 0;
  std::vector<std::string> notes = {};  // of Pass::left_alone
};

// INVALID_ARGUMENT if `skip` or `print_after` name a pass that does not exist (the message lists
// them), or the graph does not verify.
Result<std::vector<PassReport>> RunPasses(Graph& graph, const PassOptions& options = {});

}  // namespace mlc::graph
