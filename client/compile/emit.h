// mlc-compile --emit: every stage of a program as text, in the order of the compiler:
//   graph tasks ir, then llvm asm for CPUs or cuda ptx for GPUs
// Pure; each task is lowered and compiled in a sandboxed child. Not thread-safe (forks).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/target/target.h"

namespace mlc::client {

enum class Stage { kGraph, kTasks, kIr, kLlvm, kAsm, kCuda, kPtx };
Result<Stage> ParseStage(std::string_view name);

// The text of every workload, with its occurrences and label.
std::string TasksText(const graph::Program& program);

// Kernel IR, LLVM IR, assembly, CUDA C++ or PTX of the kernel of each task. The preparations of a
// kernel follow as IR, LLVM IR or assembly of this machine's CPU. `only_task` selects one task (-1:
// all). `cuda_home`: the folder that is searched first for NVRTC. INTERNAL if a kernel does not
// lower or compile, INVALID_ARGUMENT for a stage that the target does not have.
Result<std::string> KernelsText(Stage stage, const graph::Program& program,
                                const std::vector<package::Choice>& choices,
                                const target::Target& target, int only_task,
                                const std::string& cuda_home);

}  // namespace mlc::client
