#include "client/compile/emit.h"

#include <algorithm>
#include <vector>

#include "base/process/child_process.h"
#include "compiler/backend/backend.h"
#include "compiler/build/nvrtc.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/llvm.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"

namespace mlc::client {

namespace {

constexpr std::string_view kNames[] = {"graph", "tasks", "ir", "llvm", "asm", "cuda", "ptx"};

bool IsForGpus(Stage stage) { return stage == Stage::kCuda || stage == Stage::kPtx; }

// Where the weights of a library are prepared: for a CPU, on one like it.
target::Target HostOf(const target::Target& target) {
  return target.As<target::CpuTarget>() != nullptr ? target : target::DetectHost(1);
}

// Whether it shows code of some kind of device, and which kinds those are.
std::vector<const backend::Backend*> BackendsWith(std::string_view stage) {
  std::vector<const backend::Backend*> found;
  for (const backend::Backend& row : backend::Backends()) {
    const auto stages = row.code_stages;
    if (std::ranges::find(stages, stage) != stages.end()) found.push_back(&row);
  }
  return found;
}

Status CheckStage(std::string_view stage, const backend::Backend& backend) {
  const std::vector<const backend::Backend*> with = BackendsWith(stage);
  if (with.empty() || std::ranges::find(with, &backend) != with.end()) return {};
  std::string own;
  for (const std::string_view name : backend.code_stages) {
    own += (own.empty() ? "" : " or ") + std::string(name);
  }
  return InvalidArgument("--emit=" + std::string(stage) + " is for " +
                         std::string(with.front()->plural) + "; this target is a " +
                         std::string(backend.device) + ": " + own);
}

// What turns kernels into text, opened before the process enters the sandbox.
struct Emitter {
  Stage stage = Stage::kIr;
  target::Target target;
  target::Target host;                               // where weights are prepared
  std::unique_ptr<build::Nvrtc> compiler = nullptr;  // of kPtx alone

  Result<std::string> PtxText(const std::string& source) const {
    const std::string arch = "compute" + target.gpu().CudaArch().substr(2);  // after "sm"
    return MLC_TRY(compiler->Compile(source, arch)).image;
  }

  // Of a user-supplied kernel.
  Result<std::string> UserKernelText(const schedule::Config& config) const {
    const schedule::UserKernel user_kernel = MLC_TRY(schedule::UserKernel::FromConfig(config));
    if (stage == Stage::kCuda) return user_kernel.source;
    if (stage == Stage::kPtx) return PtxText(user_kernel.source);
    return std::string("# user-supplied kernel: --emit=cuda prints it\n");
  }

  Result<std::string> KernelText(const ir::Kernel& kernel) const {
    switch (stage) {
      case Stage::kCuda:
        return MLC_TRY(codegen::PrintCuda(kernel, target)).text;
      case Stage::kPtx:
        return PtxText(MLC_TRY(codegen::PrintCuda(kernel, target)).text);
      case Stage::kLlvm:
        return codegen::PrintLlvm(kernel, target);
      case Stage::kAsm:
        return codegen::PrintAssembly(kernel, target);
      default:
        return kernel.ToText();
    }
  }

  // Weights are prepared by the CPU, whatever runs the model.
  Result<std::string> PreparationText(const ir::Kernel& kernel) const {
    if (IsForGpus(stage)) return kernel.ToText();
    return Emitter{.stage = stage, .target = host, .host = host}.KernelText(kernel);
  }

  Result<std::string> TaskText(const graph::Workload& workload,
                               const schedule::Config& config) const {
    if (schedule::IsUserKernel(config)) return MLC_TRY(UserKernelText(config)) + "\n";
    const schedule::LoweredKernel lowered =
        MLC_TRY(schedule::LowerConfig(workload, target, config));
    std::string text;
    for (const schedule::Preparation& preparation : lowered.preparations) {
      text += MLC_TRY(PreparationText(preparation.kernel)) + "\n";
    }
    return text + MLC_TRY(KernelText(lowered.kernel)) + "\n";
  }
};

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
  MLC_TRY(CheckStage(kNames[static_cast<size_t>(stage)], backend::BackendOf(target)));
  Emitter emitter{.stage = stage, .target = target, .host = HostOf(target)};
  if (stage == Stage::kPtx) {
    emitter.compiler = MLC_TRY(build::Nvrtc::Open(cuda_home));
    MLC_TRY(build::WarmUp(*emitter.compiler));
  }
  std::string text;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    if (only_task >= 0 && static_cast<size_t>(only_task) != i) continue;
    const graph::Workload& workload = program.tasks[i].workload;
    const schedule::Config& config = choices[i].config;
    const Result<std::string> made =
        build::TextFromSandbox(build::CompilerLimits(schedule::IsUserKernel(config)),
                               [&] { return emitter.TaskText(workload, config); });
    if (!made.ok()) {
      return made.status().WithPrefix("task " + std::to_string(i) + " (" + workload.Summary() +
                                      ")");
    }
    text += "# task " + std::to_string(i) + ": " + workload.Summary() + "\n# " +
            schedule::BriefConfig(config.ToText()) + "\n" + *made;
  }
  return text;
}

}  // namespace mlc::client
