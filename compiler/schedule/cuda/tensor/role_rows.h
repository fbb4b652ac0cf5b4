// How tensor copies of the role_contraction family bring the row operand: rows that lie at one
// distance from each other, or, of a convolution, the box of the input that the positions of a tile
// have at a tap. Copies fill what lies outside the input, its padding, with zeros. Values;
// thread-safe (no state).
#pragma once

#include <cstdint>

#include "compiler/ir/async.h"
#include "compiler/schedule/cuda/tensor/role_plan.h"

namespace mlc::schedule {

// Elements from one row of the row operand to the next; 0 where there is no such number.
int64_t RowPitch(const GpuContraction& g);
// Whether the rows are those of a matrix, with one tap.
bool RowsAreEven(const GpuContraction& g);
// Whether every dimension of the input is one of a tensor map, and no step of k goes from one tap
// to the next.
bool RowsAreBoxes(const GpuContraction& g);

// The taps along the height of an input that may share the rows of a stage: those of a tile and a
// few more below them. Rows of later taps begin at multiples of 8, as the matrix unit takes them.
// One tap where that is not so.
TapShare TapShareOf(const GpuContraction& g, const RowBox& box);

// The rows of a step that a block of a cluster brings: one of `parts` equal parts of a tile.
struct RowsPart {
  ir::ExprRef m_tile;
  BoxPlace first;  // of the tile, if it is a box
  ir::ExprRef k;   // first element of the step
  int parts = 1;
  ir::ExprRef part;
};
// What is copied, from which dimensions of `from`; not yet where to.
ir::CopyTensor RowsCopy(ir::KernelBuilder& b, const GpuContraction& g, const RolePlan& plan,
                        ir::BufferId from, const RowsPart& part);

}  // namespace mlc::schedule
