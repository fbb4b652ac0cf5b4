// A program for people and golden tests: ports, tasks with their workloads, steps with places.
// Stable; constants appear by index, type and byte count. Names of the model are left out.
#pragma once

#include <string>

#include "compiler/graph/program.h"

namespace mlc::graph {

// "input 0", "arena+4096", "constant 12+64".
std::string ToText(const Placement& place);
std::string ToText(const Program& program);

// One line per distinct task, with how often it occurs: the summary a person reads first.
std::string TaskTable(const Program& program);

}  // namespace mlc::graph
