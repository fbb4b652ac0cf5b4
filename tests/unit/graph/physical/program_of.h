// Test support: a program straight from graph text, with the failure as a test failure.
#pragma once

#include <string>
#include <string_view>

#include "compiler/graph/physical/build_program.h"

namespace mlc::graph {

Program ProgramOf(std::string_view graph_text);

// The operators of a task between its sources and its results: "conv add max".
std::string OpsOf(const Task& task);

// OpsOf() of every step, in order, joined by "; ".
std::string StepsOf(const Program& program);

}  // namespace mlc::graph
