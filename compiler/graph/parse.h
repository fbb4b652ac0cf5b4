// The part of the text form that graphs and workloads share. Only for these two. Not thread-safe
// for one lexer.
#pragma once

#include "base/text.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

inline constexpr int kMaxModelValues = 1 << 20;
// A workload is a small part of a model. The limit bounds its memory, because its text may come
// from other users.
inline constexpr int kMaxWorkloadValues = 1 << 14;

// "{ line* return ... }" up to the end of the text; the result verifies. Work and memory are
// proportional to the text, whatever shapes it names.
Result<Graph> ParseGraphBody(Lexer& lexer, int most_values);

}  // namespace mlc::graph
