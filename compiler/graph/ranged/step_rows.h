// What a smaller run needs of the results of each step: their first rows. Compares the program of a
// class with that of the same model, with the same masks, at a size of the class. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/program.h"

namespace mlc::graph {

// A result of an earlier step that an operand of a step is, or is a part of, or has as a part.
struct Source {
  int operand = 0;
  int step = 0;
  int output = 0;
  int64_t offset = 0;  // bytes from the operand's first element to the result's

  friend bool operator==(const Source&, const Source&) = default;
};
// By step.
std::vector<std::vector<Source>> SourcesOf(const Program& program);

// The outermost axis in memory of a dense value, among those longer than one: what its rows lie
// along. -1: there is none, or other axes reach beyond it.
int RowAxis(const TensorType& type);
// How many elements the rows lie apart; 0: there are none.
int64_t RowElements(const TensorType& type);

// By step: how many rows of its results the size needs; -1: all. Elements beyond the length are
// needed after all where a mask has set them, until a product or a sum has read them. Empty: the
// programs have other steps. `hidden_input`: the input of the lengths; -1: there is none.
std::optional<std::vector<int64_t>> RowsOfSteps(const Program& exact, const Program& padded,
                                                int hidden_input);

}  // namespace mlc::graph
