// Lowers and compiles the kernels of a library, in child processes, and runs the preparations of
// their weights there. Not thread-safe (forks).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/codegen/llvm.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/weights.h"
#include "compiler/schedule/family.h"
#include "compiler/target/target.h"

namespace mlc::package {

// One task's kernel, lowered and named; the object lies in a file.
struct TaskKernel {
  schedule::LoweredKernel lowered;
  codegen::KernelLayout layout;
  std::string object_path;
};

// Lowers every task with its choice and gives the kernels their symbols: "mlc_NAME_kI".
Result<std::vector<TaskKernel>> LowerKernels(const graph::Program& program,
                                             std::span<const Choice> choices,
                                             const target::Target& target, const std::string& name,
                                             const std::string& temporary_directory);

// Compiles every kernel to its object file and writes the prepared constants into the weights file.
Status CompileKernels(const graph::Program& program, std::span<const TaskKernel> kernels,
                      const WeightsPlan& weights, const std::string& weights_path,
                      const target::Target& target, int parallel);

}  // namespace mlc::package
