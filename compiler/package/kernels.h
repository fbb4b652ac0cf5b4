// Compiles the kernels of a library in sandboxed child processes, and runs the preparations of
// their weights there. Not thread-safe (forks).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/target/target.h"

namespace mlc::package {

// Of kernels for GPUs: how much device code the cache had, how much was compiled, and why the cache
// could not be used or written (empty: it could).
struct CompiledKernels {
  int64_t found = 0;
  int64_t made = 0;
  std::string cache_failure;
};

// Compiles every kernel to its object file and writes the prepared constants into the weights file.
// NOT_FOUND when there is no NVRTC for a GPU. FAILED_PRECONDITION for a user-supplied kernel on a
// machine without seccomp: there is no sandbox; generated kernels need none.
Result<CompiledKernels> CompileKernels(const graph::Program& program,
                                       std::span<const TaskKernel> kernels,
                                       const WeightsPlan& weights, const std::string& weights_path,
                                       const target::Target& target, const LibraryOptions& options);

}  // namespace mlc::package
