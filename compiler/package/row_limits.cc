#include "compiler/package/row_limits.h"

#include <set>
#include <string>
#include <utility>

#include "compiler/graph/ranged/step_rows.h"
#include "compiler/package/packaging.h"

namespace mlc::package {

std::vector<int64_t> RowElementsOf(const graph::Workload& workload, const TaskKernel& kernel) {
  std::vector<int64_t> row_elements;
  for (const schedule::Binding& binding : kernel.lowered.bindings) {
    row_elements.push_back(0);
    if (binding.kind != schedule::Binding::Kind::kOutput) continue;
    const graph::ValueId id = workload.outputs()[static_cast<size_t>(binding.index)];
    row_elements.back() = graph::RowElements(workload.graph()[id].type);
  }
  return row_elements;
}

Result<schedule::LoweredKernel> LowerLimited(const graph::Workload& workload,
                                             const target::Target& target,
                                             const schedule::Config& config) {
  std::vector<int64_t> row_elements;
  for (const graph::ValueId id : workload.outputs()) {
    row_elements.push_back(graph::RowElements(workload.graph()[id].type));
  }
  return schedule::LowerLimited(workload, target, config, row_elements);
}

Status LimitKernels(const graph::Program& program, std::span<const Plan> plans,
                    std::span<const Choice> choices, const target::Target& target,
                    std::vector<TaskKernel>& kernels) {
  std::set<int> tasks;
  for (const Plan& plan : plans) {
    for (size_t s = 0; s < plan.rows.size(); ++s) {
      if (!plan.rows[s]) continue;
      tasks.insert(program.steps[static_cast<size_t>(plan.first_step) + s].task);
    }
  }
  for (TaskKernel& kernel : kernels) {
    if (!tasks.contains(kernel.task) || !kernel.device.launches.empty()) continue;
    const auto task = static_cast<size_t>(kernel.task);
    std::string name = std::move(kernel.lowered.kernel.name);
    kernel.lowered =
        MLC_TRY(LowerLimited(program.tasks[task].workload, target, choices[task].config));
    kernel.lowered.kernel.name = std::move(name);
    MLC_TRY(PackagingOf(target).complete(kernel, target));
  }
  return {};
}

}  // namespace mlc::package
