// mlc-compile --emit: every stage of a program as text, in the order of the compiler:
//   graph tasks ir llvm asm
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/library.h"
#include "compiler/target/target.h"

namespace mlc::client {

enum class Stage { kGraph, kTasks, kIr, kLlvm, kAsm };
Result<Stage> ParseStage(std::string_view name);

// Every workload's text with its occurrences and label.
std::string TasksText(const graph::Program& program);

// Kernel IR, LLVM IR or assembly of each task's kernel and of its preparations; `only_task` limits
// it to one task (-1: all). INTERNAL if a kernel does not lower or compile.
Result<std::string> KernelsText(Stage stage, const graph::Program& program,
                                const std::vector<package::Choice>& choices,
                                const target::Target& target, int only_task);

}  // namespace mlc::client
