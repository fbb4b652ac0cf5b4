#include "compiler/package/in_place.h"

#include <algorithm>

#include "compiler/graph/copied_operand.h"
#include "compiler/runtime/image.h"

namespace mlc::package {
namespace {

using graph::Placement;

constexpr size_t kPhases = 2;  // the copy and the updates

// How often the plan reads an input or writes an output.
int64_t UsesOf(const graph::Program& program, const Plan& plan, const Placement& port) {
  int64_t uses = 0;
  for (int s = plan.first_step; s < plan.first_step + plan.step_count; ++s) {
    const graph::Step& step = program.steps[static_cast<size_t>(s)];
    const bool reads = port.kind == Placement::Kind::kModelInput;
    uses += std::ranges::count_if(reads ? step.operands : step.outputs, [&](const Placement& at) {
      return at.kind == port.kind && at.index == port.index;
    });
  }
  return uses;
}

bool IsWhole(const Placement& placement, const std::vector<graph::Port>& ports, int64_t elements) {
  return placement.byte_offset == 0 &&
         ports[static_cast<size_t>(placement.index)].type.NumElements() == elements;
}

}  // namespace

std::vector<InPlacePair> InPlacePairsOf(const graph::Program& program, const Plan& plan, int step,
                                        const TaskKernel& kernel) {
  const graph::Step& row = program.steps[static_cast<size_t>(step)];
  const graph::Workload& workload = program.tasks[static_cast<size_t>(row.task)].workload;
  const std::vector<graph::CopiedOperand> copied = graph::CopiedOperandsOf(workload);
  if (copied.size() > MLC_MOST_COPIES || kernel.lowered.kernel.phases.size() != kPhases) return {};
  std::vector<InPlacePair> pairs;
  for (const graph::CopiedOperand& pair : copied) {
    const auto output = static_cast<size_t>(pair.output);
    const Placement& from = row.operands[static_cast<size_t>(pair.operand)];
    const Placement& to = row.outputs[output];
    if (from.kind != Placement::Kind::kModelInput || to.kind != Placement::Kind::kModelOutput) {
      return {};
    }
    const int64_t elements = workload.graph()[workload.outputs()[output]].type.NumElements();
    if (!IsWhole(from, plan.inputs, elements) || !IsWhole(to, plan.outputs, elements)) return {};
    if (UsesOf(program, plan, from) != 1 || UsesOf(program, plan, to) != 1) return {};
    pairs.push_back({from.index, to.index});
  }
  return pairs;
}

std::vector<InPlacePair> InPlacePairs(const graph::Program& program, const Plans& plans,
                                      std::span<const TaskKernel* const> kernels) {
  std::vector<InPlacePair> common;
  for (size_t p = 0; p < plans.plans.size(); ++p) {
    const Plan& plan = plans.plans[p];
    std::vector<InPlacePair> pairs;
    for (int s = plan.first_step; s < plan.first_step + plan.step_count; ++s) {
      const auto task = static_cast<size_t>(program.steps[static_cast<size_t>(s)].task);
      for (const InPlacePair& pair : InPlacePairsOf(program, plan, s, *kernels[task])) {
        if (p == 0 || std::ranges::find(common, pair) != common.end()) pairs.push_back(pair);
      }
    }
    common = std::move(pairs);
  }
  std::ranges::sort(common, {}, &InPlacePair::output);
  return common;
}

}  // namespace mlc::package
