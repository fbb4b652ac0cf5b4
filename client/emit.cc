#include "client/emit.h"

#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/llvm.h"
#include "compiler/schedule/cuda/raw_cuda.h"
#include "compiler/schedule/family.h"

namespace mlc::client {

namespace {

constexpr std::string_view kNames[] = {"graph", "tasks", "ir", "llvm", "asm", "cuda", "ptx"};

bool IsForGpus(Stage stage) { return stage == Stage::kCuda || stage == Stage::kPtx; }
bool IsForProcessors(Stage stage) { return stage == Stage::kLlvm || stage == Stage::kAsm; }

Result<std::string> PtxText(const std::string& source, const target::Target& target,
                            const std::string& cuda_home) {
  const std::unique_ptr<build::Nvrtc> compiler = MLC_TRY(build::Nvrtc::Open(cuda_home));
  const std::string arch = "compute" + target.CudaArch().substr(2);  // after "sm"
  return MLC_TRY(compiler->Compile(source, arch)).image;
}

// Of a kernel that somebody wrote by hand.
Result<std::string> RawText(Stage stage, const schedule::Config& config,
                            const target::Target& target, const std::string& cuda_home) {
  const schedule::RawCuda raw = MLC_TRY(schedule::RawCuda::FromConfig(config));
  if (stage == Stage::kCuda) return raw.source;
  if (stage == Stage::kPtx) return PtxText(raw.source, target, cuda_home);
  return std::string("# written by hand: --emit=cuda prints it\n");
}

Result<std::string> KernelText(Stage stage, const ir::Kernel& kernel, const target::Target& target,
                               const std::string& cuda_home) {
  switch (stage) {
    case Stage::kCuda:
      return MLC_TRY(codegen::PrintCuda(kernel, target)).text;
    case Stage::kPtx:
      return PtxText(MLC_TRY(codegen::PrintCuda(kernel, target)).text, target, cuda_home);
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
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Stage>(i);
  }
  return InvalidArgument("unknown stage '" + std::string(name) +
                         "': use graph, tasks, ir, llvm, asm, cuda or ptx");
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
                                const target::Target& target, int only_task,
                                const std::string& cuda_home) {
  if (target.is_cuda() ? IsForProcessors(stage) : IsForGpus(stage)) {
    return InvalidArgument("--emit=" + std::string(kNames[static_cast<size_t>(stage)]) +
                           " is for " +
                           (target.is_cuda() ? "processors; this target is a GPU: cuda or ptx"
                                             : "GPUs; this target is a processor: llvm or asm"));
  }
  // Weights are prepared by the processor, whatever runs the model.
  const target::Target host = target.is_cuda() ? target::DetectHost(1) : target;
  const Stage preparation_stage = IsForGpus(stage) ? Stage::kIr : stage;
  std::string text;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    if (only_task >= 0 && static_cast<size_t>(only_task) != i) continue;
    const graph::Workload& workload = program.tasks[i].workload;
    text += "# task " + std::to_string(i) + ": " + workload.Summary() + "\n# " +
            choices[i].config.ToText() + "\n";
    if (schedule::IsRawCuda(choices[i].config)) {
      text += MLC_TRY(RawText(stage, choices[i].config, target, cuda_home)) + "\n";
      continue;
    }
    const schedule::LoweredKernel lowered =
        MLC_TRY(schedule::LowerConfig(workload, target, choices[i].config));
    for (const schedule::Preparation& preparation : lowered.preparations) {
      text += MLC_TRY(KernelText(preparation_stage, preparation.kernel, host, cuda_home)) + "\n";
    }
    text += MLC_TRY(KernelText(stage, lowered.kernel, target, cuda_home)) + "\n";
  }
  return text;
}

}  // namespace mlc::client
