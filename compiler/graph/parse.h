// The part of the text form that graphs and workloads share. For those two only.
#pragma once

#include "compiler/base/text.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

// "{ line* return ... }" up to the end of the text; the result verifies. Work and memory are
// proportional to the text, whatever shapes it names.
Result<Graph> ParseGraphBody(Lexer& lexer);

}  // namespace mlc::graph
