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

// Every workload's text with its occurrences and label.
std::string TasksText(const graph::Program& program);

// Kernel IR, LLVM IR, assembly, CUDA C++ or PTX of each task's kernel and, as IR, LLVM IR or
// assembly of the CPU at hand, of its preparations; `only_task` limits it to one task (-1:
// all). `cuda_home`: where NVRTC is looked for first. INTERNAL if a kernel does not lower or
// compile, INVALID_ARGUMENT for a stage that the target does not have.
Result<std::string> KernelsText(Stage stage, const graph::Program& program,
                                const std::vector<package::Choice>& choices,
                                const target::Target& target, int only_task,
                                const std::string& cuda_home);

}  // namespace mlc::client
