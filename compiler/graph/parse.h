// The part of the text form that graphs and workloads share. For those two only.
#pragma once

#include "base/text.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

inline constexpr int kMaxModelValues = 1 << 20;
// A task is a small part of a model; its text comes from others, and each value takes memory.
inline constexpr int kMaxWorkloadValues = 1 << 14;

// "{ line* return ... }" up to the end of the text; the result verifies. Work and memory are
// proportional to the text, whatever shapes it names.
Result<Graph> ParseGraphBody(Lexer& lexer, int most_values);

}  // namespace mlc::graph
