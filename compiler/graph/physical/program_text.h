// The text of a program, for display and golden tests: ports, tasks with their workloads, steps
// with their memory. Stable; constants appear as index, type and byte count. It contains no names
// of the model. Pure; thread-safe.
#pragma once

#include <string>

#include "compiler/graph/program.h"

namespace mlc::graph {

// "input 0", "arena+4096", "constant 12+64".
std::string ToText(const Placement& place);
std::string ToText(const Program& program);

// A summary with one line per distinct task and its number of occurrences.
std::string TaskTable(const Program& program);

}  // namespace mlc::graph
