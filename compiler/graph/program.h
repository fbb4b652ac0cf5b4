// The result of the compiler front end: a model cut into tasks, in execution order, with memory
// assigned to every tensor. Final code generation turns each step into a kernel call; the tuner
// needs only the tasks. Values; thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/counted_outputs.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/workload.h"

namespace mlc::graph {

// The memory of a kernel operand at run time.
struct Placement {
  enum class Kind : uint8_t { kModelInput, kModelOutput, kArena, kConstant };
  Kind kind = Kind::kArena;
  int index = 0;            // of the model input, model output or constant; 0 for the arena
  int64_t byte_offset = 0;  // of the operand's first element
};

struct Task {
  Workload workload;
  int occurrences = 0;
  // For display: the model's name of the anchor node at its first occurrence, or the summary of the
  // workload.
  std::string label;
};

struct Step {
  int task = 0;
  std::vector<Placement> operands;  // parallel to workload.operands()
  std::vector<Placement> outputs;   // parallel to workload.outputs()
  std::string label;
};

struct Port {
  std::string name;
  TensorType type;  // dense
};

struct Program {
  std::vector<Task> tasks;  // distinct workloads
  std::vector<Step> steps;
  std::vector<TensorDataRef> constants;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
  // Outputs have the shapes of the most elements that there may be; a run has the first ones.
  CountedOutputs counted = {};
  // Values in the arena start at multiples of 64 bytes; views and parts of a concatenation start at
  // their first element. Only in pointwise tasks may an output overwrite an operand.
  int64_t arena_bytes = 0;
  // Bytes of the arena without sharing, for the report.
  int64_t unshared_bytes = 0;
};

}  // namespace mlc::graph
