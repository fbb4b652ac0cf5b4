// The end of the compiler front: a model cut into tasks, in execution order, with every tensor
// placed. Final code generation turns each step into a kernel call; the tuner only needs the tasks.
// Values; thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/workload.h"

namespace mlc::graph {

// Where a kernel operand lives at run time.
struct Placement {
  enum class Kind : uint8_t { kModelInput, kModelOutput, kArena, kConstant };
  Kind kind = Kind::kArena;
  int index = 0;            // which model input, model output or constant; 0 for the arena
  int64_t byte_offset = 0;  // of the operand's first element
};

struct Task {
  Workload workload;
  int occurrences = 0;
  // For people: the model's name of the node it is built around, where it first occurs; its summary
  // if it has none.
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
  // Values in it start at multiples of 64 bytes; views and parts of a concatenation where their
  // first element lies. An output may stand in the place of an operand only in pointwise tasks.
  int64_t arena_bytes = 0;
  // Bytes the arena would need without sharing, for the report.
  int64_t unshared_bytes = 0;
};

}  // namespace mlc::graph
