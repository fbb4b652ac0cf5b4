#include "client/emit.h"

#include "compiler/codegen/llvm.h"
#include "compiler/schedule/family.h"

namespace mlc::client {

namespace {

Result<std::string> KernelText(Stage stage, const ir::Kernel& kernel,
                               const target::Target& target) {
  switch (stage) {
    case Stage::kLlvm:
      return codegen::PrintLlvm(kernel, target);
    case Stage::kAsm:
      return codegen::PrintAssembly(kernel, target);
    default:
      return kernel.ToText();
  }
}

}  // namespace

Result<Stage> ParseStage(std::string_view name) {
  constexpr std::string_view kNames[] = {"graph", "tasks", "ir", "llvm", "asm"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Stage>(i);
  }
  return InvalidArgument("unknown stage '" + std::string(name) +
                         "': use graph, tasks, ir, llvm or asm");
}

std::string TasksText(const graph::Program& program) {
  std::string text;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    const graph::Task& task = program.tasks[i];
    text += "# task " + std::to_string(i) + ": " + std::to_string(task.occurrences) + " x " +
            task.workload.Summary() + ", " + task.workload.digest().ToText() + "\n" +
            task.workload.ToText() + "\n";
  }
  return text;
}

Result<std::string> KernelsText(Stage stage, const graph::Program& program,
                                const std::vector<package::Choice>& choices,
                                const target::Target& target, int only_task) {
  std::string text;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    if (only_task >= 0 && static_cast<size_t>(only_task) != i) continue;
    const graph::Workload& workload = program.tasks[i].workload;
    const schedule::LoweredKernel lowered =
        MLC_TRY(schedule::LowerConfig(workload, target, choices[i].config));
    text += "# task " + std::to_string(i) + ": " + workload.Summary() + "\n# " +
            choices[i].config.ToText() + "\n";
    for (const schedule::Preparation& preparation : lowered.preparations) {
      text += MLC_TRY(KernelText(stage, preparation.kernel, target)) + "\n";
    }
    text += MLC_TRY(KernelText(stage, lowered.kernel, target)) + "\n";
  }
  return text;
}

}  // namespace mlc::client
