// Outputs of a model that may lie where an input does: caches that a step updates. Pure;
// thread-safe.
#pragma once

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

// The inputs that the step of the program copies whole to outputs before it writes updates over the
// copies. No other step of the plan reads these inputs or writes these outputs. `kernel`: the one
// of the step's task; it copies in its first phase and has one more. Empty if the first phase does
// more than that, or there is none.
std::vector<InPlacePair> InPlacePairsOf(const graph::Program& program, const Plan& plan, int step,
                                        const TaskKernel& kernel);

// The pairs of every plan, by output. `kernels`: by task.
std::vector<InPlacePair> InPlacePairs(const graph::Program& program, const Plans& plans,
                                      std::span<const TaskKernel* const> kernels);

}  // namespace mlc::package
