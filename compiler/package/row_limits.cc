#include "compiler/package/row_limits.h"

#include <set>
#include <utility>

#include "compiler/graph/ranged/step_rows.h"
#include "compiler/ir/limit_loops.h"

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

void LimitKernels(const graph::Program& program, std::span<const Plan> plans,
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
    const graph::Workload& workload = program.tasks[static_cast<size_t>(kernel.task)].workload;
    const std::vector<int64_t> row_elements = RowElementsOf(workload, kernel);
    kernel.lowered.kernel =
        ir::LimitLoops(std::move(kernel.lowered.kernel), kernel.lowered.row_loops, row_elements);
  }
}

}  // namespace mlc::package
