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

// For GPUs: the number of kernels from the cache, the number of compiled ones, and the error of the
// cache (empty: none).
struct CompiledKernels {
  int64_t found = 0;
  int64_t made = 0;
  std::string cache_failure;
};

// Compiles every kernel to its object file and writes the prepared constants into the weights file.
// NOT_FOUND without NVRTC for a GPU. FAILED_PRECONDITION for a user-supplied kernel on a machine
// without seccomp, because it needs a sandbox; generated kernels do not.
Result<CompiledKernels> CompileKernels(const graph::Program& program,
                                       std::span<const TaskKernel> kernels,
                                       const WeightsPlan& weights, const std::string& weights_path,
                                       const target::Target& target, const LibraryOptions& options);

}  // namespace mlc::package
