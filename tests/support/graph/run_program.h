// Executes a program by the book: every step's workload through the reference evaluator, every
// operand and result through its real place, strides and offset, in a real arena that starts
// poisoned. It is the oracle for layouts, views and the memory plan: what it computes must be what
// the imported graph means. Slow; thread-safe.
#pragma once

#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"

namespace mlc::graph {

// `inputs`: dense, parallel to program.inputs. Returns the outputs in order. INVALID_ARGUMENT for
// inputs of another type; INTERNAL for a place outside of its buffer.
Result<std::vector<TensorDataRef>> RunProgram(const Program& program,
                                              const std::vector<TensorDataRef>& inputs);

}  // namespace mlc::graph
