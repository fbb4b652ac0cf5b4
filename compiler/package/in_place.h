// Outputs of a model that may lie where an input does: caches that a step updates. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/program.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"

namespace mlc::package {

// One buffer may be passed for both.
struct InPlacePair {
  int input = 0;
  int output = 0;

  bool operator==(const InPlacePair&) const = default;
};

// The input that the step of the program copies whole to the output before it writes updates over
// the copy. No other step of the plan reads that input or writes that output. `kernel`: the one of
// the step's task; it copies in its first phase and has one more.
std::optional<InPlacePair> InPlacePairOf(const graph::Program& program, const Plan& plan, int step,
                                         const TaskKernel& kernel);

// The pairs of every plan, by output. `kernels`: by task.
std::vector<InPlacePair> InPlacePairs(const graph::Program& program, const Plans& plans,
                                      std::span<const TaskKernel* const> kernels);

}  // namespace mlc::package
