// Lowers the kernels of a library, compiles them in fenced child processes, and runs the
// preparations of their weights there. Not thread-safe (forks).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/llvm.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/package/weights.h"
#include "compiler/schedule/family.h"
#include "compiler/target/target.h"

namespace mlc::package {

// One task's kernel, lowered and named; its code lies in files.
struct TaskKernel {
  schedule::LoweredKernel lowered;  // without phases: somebody wrote `device` by hand
  codegen::KernelLayout layout;     // of kernels for processors
  codegen::CudaSource device;       // of kernels for GPUs
  std::string object_path;          // an object, or a GPU's binary
  std::string portable_path;        // a GPU's portable text, empty when there is none

  bool written_by_hand() const { return lowered.kernel.phases.empty() && !device.text.empty(); }
  // Scratch that all threads share, and what each thread or the counters need.
  int64_t shared_bytes() const;
  int64_t thread_bytes() const;
};

// The machine that the library's own code is for: the one at hand when kernels run on a GPU.
std::string HostMachine(const target::Target& target);

// Lowers every task with its choice and gives the kernels their symbols: "mlc_NAME_kI".
Result<std::vector<TaskKernel>> LowerKernels(const graph::Program& program,
                                             std::span<const Choice> choices,
                                             const target::Target& target, const std::string& name,
                                             const std::string& temporary_directory);

// Of kernels for GPUs: how much device code the cache had, how much was compiled, and why the cache
// could not be used or written (empty: it could).
struct CompiledKernels {
  int64_t found = 0;
  int64_t made = 0;
  std::string cache_failure;
};

// Compiles every kernel to its object file and writes the prepared constants into the weights file.
// NOT_FOUND when there is no NVRTC for a GPU. FAILED_PRECONDITION for a kernel written by hand on a
// machine without seccomp: there is no fence, which others do without.
Result<CompiledKernels> CompileKernels(const graph::Program& program,
                                       std::span<const TaskKernel> kernels,
                                       const WeightsPlan& weights, const std::string& weights_path,
                                       const target::Target& target, const LibraryOptions& options);

}  // namespace mlc::package
