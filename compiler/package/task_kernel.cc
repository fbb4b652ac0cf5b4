#include "compiler/package/task_kernel.h"

#include <utility>

#include "compiler/package/packaging.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/check_config.h"

namespace mlc::package {

namespace {

// A user-supplied kernel: there is nothing to lower.
Result<TaskKernel> LoadUserKernel(const graph::Workload& workload, const schedule::Config& config,
                                  const target::Target& target) {
  schedule::UserKernel user_kernel = MLC_TRY(schedule::UserKernel::FromConfig(config));
  MLC_TRY(schedule::CheckFits(user_kernel, target));
  TaskKernel kernel;
  kernel.lowered.bindings = schedule::UserKernelBindings(workload);
  kernel.device.text = std::move(user_kernel.source);
  kernel.device.launches = {
      {std::move(user_kernel.entry), user_kernel.grid, user_kernel.block, user_kernel.block_bytes}};
  return kernel;
}

// All but the names of its files.
Result<TaskKernel> LowerTask(const graph::Workload& workload, const schedule::Config& config,
                             const target::Target& target, const std::string& name) {
  if (schedule::IsUserKernel(config)) return LoadUserKernel(workload, config, target);
  TaskKernel kernel;
  kernel.lowered = MLC_TRY(schedule::LowerConfig(workload, target, config));
  kernel.lowered.kernel.name = name;
  MLC_TRY(PackagingOf(target).complete(kernel, target));
  return kernel;
}

// For the smallest devices that can run it.
Result<TaskKernel> LowerSubstitute(const graph::Workload& workload, const schedule::Config& config,
                                   const target::Target& target, const std::string& name) {
  const auto [any, large] = target::NewerDevices(target);
  const bool fits = schedule::CheckConfig(workload, any, config).ok();
  TaskKernel kernel = MLC_TRY(LowerTask(workload, config, fits ? any : large, name));
  kernel.is_substitute = true;
  return kernel;
}

}  // namespace

int64_t TaskKernel::workspace_bytes() const {
  return device.launches.empty() ? layout.workspace_bytes : device.workspace_bytes;
}

int64_t TaskKernel::thread_bytes() const {
  return device.launches.empty() ? layout.thread_bytes : device.counter_bytes;
}

Result<std::vector<TaskKernel>> LowerKernels(const graph::Program& program,
                                             std::span<const Choice> choices,
                                             const target::Target& target, const std::string& name,
                                             const std::string& temporary_directory) {
  std::vector<TaskKernel> kernels;
  for (const bool substitutes : {false, true}) {
    for (size_t i = 0; i < program.tasks.size(); ++i) {
      const Choice& choice = choices[i];
      if (substitutes && !choice.substitute) continue;
      const graph::Workload& workload = program.tasks[i].workload;
      const std::string file = (substitutes ? "n" : "k") + std::to_string(i);
      const std::string symbol = "mlc_" + name + "_" + file;
      Result<TaskKernel> kernel =
          substitutes ? LowerSubstitute(workload, *choice.substitute, target, symbol)
                      : LowerTask(workload, choice.config, target, symbol);
      if (!kernel.ok()) {
        return kernel.status().WithPrefix("task " + std::to_string(i) + " (" + workload.Summary() +
                                          ")");
      }
      kernel->task = static_cast<int>(i);
      if (!substitutes && choice.substitute) kernel->portable_source.clear();
      const std::string path = temporary_directory + "/" + file;
      if (!substitutes) kernel->object_path = path + std::string(PackagingOf(target).code_suffix);
      if (!kernel->portable_source.empty()) kernel->portable_path = path + ".ptx";
      kernels.push_back(*std::move(kernel));
    }
  }
  return kernels;
}

std::vector<const TaskKernel*> OwnKernels(const graph::Program& program,
                                          std::span<const TaskKernel> kernels) {
  std::vector<const TaskKernel*> own(program.tasks.size());
  for (const TaskKernel& kernel : kernels) {
    if (!kernel.is_substitute) own[static_cast<size_t>(kernel.task)] = &kernel;
  }
  return own;
}

std::vector<const TaskKernel*> KernelsForNewer(const graph::Program& program,
                                               std::span<const TaskKernel> kernels) {
  std::vector<const TaskKernel*> newer = OwnKernels(program, kernels);
  for (const TaskKernel& kernel : kernels) {
    if (kernel.is_substitute) newer[static_cast<size_t>(kernel.task)] = &kernel;
  }
  return newer;
}

}  // namespace mlc::package
