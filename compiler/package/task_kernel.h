// The kernels of a library's tasks: configs lowered, named and printed. A value; thread-safe (no
// shared state).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/llvm.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/schedule/space/family.h"
#include "compiler/target/target.h"

namespace mlc::package {

// The kernel of one task, lowered and named. Its code is in files.
struct TaskKernel {
  int task = 0;
  bool is_substitute = false;       // for GPUs newer than the target
  schedule::LoweredKernel lowered;  // without phases if `device` is a user-supplied kernel
  codegen::KernelLayout layout;     // of kernels for CPUs
  codegen::CudaSource device;       // of kernels for GPUs
  std::string portable_source;      // for newer GPUs; empty: they cannot run it
  std::string object_path;          // an object, or a GPU's binary; empty: a substitute
  std::string portable_path;        // a GPU's portable text; empty: there is none

  bool is_user_kernel() const { return lowered.kernel.phases.empty() && !device.text.empty(); }
  // Scratch that all threads share, and what each thread or the counters need.
  int64_t workspace_bytes() const;
  int64_t thread_bytes() const;
};

// Lowers every task with its choice and gives the kernels their symbols: "mlc_NAME_kI". Substitutes
// follow, "mlc_NAME_nI"; the tasks that have one have no portable text of their own.
Result<std::vector<TaskKernel>> LowerKernels(const graph::Program& program,
                                             std::span<const Choice> choices,
                                             const target::Target& target, const std::string& name,
                                             const std::string& temporary_directory);

// By task: the kernels for the target; those that newer GPUs run.
std::vector<const TaskKernel*> OwnKernels(const graph::Program& program,
                                          std::span<const TaskKernel> kernels);
std::vector<const TaskKernel*> KernelsForNewer(const graph::Program& program,
                                               std::span<const TaskKernel> kernels);

}  // namespace mlc::package
