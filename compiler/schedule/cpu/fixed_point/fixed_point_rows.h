// Rows as fixed-point numbers: each group of a row has one factor, the largest element over
// 127 * 2^14, and its elements are whole multiples of it, of three digits of seven bits. They are
// computed once, by a phase of their own. Infinities stay so, and a NaN makes the factor NaN.
//
//   digits   [row][group][digit][word]   i32: four signed bytes, the most significant digit last
//   factors  [row][group]                f32, what a sum of products is multiplied by
//   starts   [row][group][2]             i32, without zeros: what sums of the lower two digits and
//                                        of the highest start with, so that the zero is subtracted
//   totals   [row][group]                f32, with zeros: minus the sum of the elements
#pragma once

#include "compiler/ir/build.h"
#include "compiler/schedule/cpu/fixed_point/fixed_point_plan.h"

namespace mlc::schedule {

// What digits multiply is this many times a code (see FixedPointLowering).
int64_t CodeFactor(const ContractionProblem& problem);

struct FixedPointRows {
  ir::BufferId digits = 0;
  ir::BufferId factors = 0;
  ir::BufferId starts = -1;
  ir::BufferId totals = -1;
};

// Emits the phase that computes them from the row operand.
FixedPointRows EmitFixedPointRows(const ContractionProblem& problem, const FixedPointPlan& plan,
                                  const target::Target& target, ir::BufferId rows,
                                  ir::KernelBuilder& builder);

}  // namespace mlc::schedule
