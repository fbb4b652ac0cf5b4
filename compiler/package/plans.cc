#include "compiler/package/plans.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

namespace mlc::package {

namespace {

bool SameKinds(const std::vector<graph::Port>& a, const std::vector<graph::Port>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.name == y.name && x.type.dtype == y.type.dtype && x.type.rank() == y.type.rank();
  });
}

bool SameBytes(const graph::TensorData& a, const graph::TensorData& b) {
  return a.bytes.size() == b.bytes.size() &&
         std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

// The dimension whose size the axis has in every plan; none if its length does not vary. Two
// dimensions cannot both be it: all combinations of their sizes are there.
std::optional<int> DimOfAxis(const Plans& plans, size_t input, size_t axis) {
  const auto length = [&](const Plan& plan) { return plan.inputs[input].type.dims[axis]; };
  const int64_t first = length(plans.plans.front());
  if (std::ranges::all_of(plans.plans, [&](const Plan& p) { return length(p) == first; })) {
    return std::nullopt;
  }
  for (size_t d = 0; d < plans.dims.size(); ++d) {
    if (std::ranges::all_of(plans.plans, [&](const Plan& p) { return length(p) == p.sizes[d]; })) {
      return static_cast<int>(d);
    }
  }
  return std::nullopt;
}

// The same by the form of the length, where plans are those of classes.
std::optional<int> DimOfForm(const graph::SizeForm& form) {
  for (size_t d = 0; d < form.factors.size(); ++d) {
    graph::SizeForm its{0, std::vector<int64_t>(form.factors.size(), 0)};
    its.factors[d] = 1;
    if (form == its) return static_cast<int>(d);
  }
  return std::nullopt;
}

std::vector<SizeAxis> AxesOf(const Plans& plans) {
  std::vector<SizeAxis> axes;
  const std::vector<graph::Port>& inputs = plans.plans.front().inputs;
  for (size_t i = 0; i + plans.hidden_inputs() < inputs.size(); ++i) {
    for (size_t a = 0; a < inputs[i].type.dims.size(); ++a) {
      const std::optional<int> dim =
          plans.ranges ? DimOfForm(plans.ranges->forms.inputs[i][a]) : DimOfAxis(plans, i, a);
      if (dim) axes.push_back({static_cast<int>(i), static_cast<int>(a), *dim});
    }
  }
  return axes;
}

Status CheckComplete(const Plans& plans) {
  size_t combinations = 1;
  for (size_t d = 0; d < plans.dims.size(); ++d) {
    std::set<int64_t> sizes;
    for (const Plan& plan : plans.plans) sizes.insert(plan.sizes[d]);
    combinations *= sizes.size();
  }
  std::set<std::vector<int64_t>> rows;
  for (const Plan& plan : plans.plans) rows.insert(plan.sizes);
  if (rows.size() == combinations && plans.plans.size() == combinations) return {};
  return InvalidArgument("the sizes of a library are to be all combinations of its dimensions'");
}

}  // namespace

Plans OnePlan(const graph::Program& program) {
  Plan plan;
  plan.step_count = static_cast<int>(program.steps.size());
  plan.inputs = program.inputs;
  plan.outputs = program.outputs;
  plan.arena_bytes = program.arena_bytes;
  plan.counted = program.counted;
  return {{}, {}, {std::move(plan)}, std::nullopt};
}

PlanMerger::PlanMerger(std::vector<std::string> dims, std::optional<PlanRanges> ranges) {
  merged_.plans.dims = std::move(dims);
  merged_.plans.ranges = std::move(ranges);
}

int PlanMerger::TaskFor(const graph::Task& task, const Choice& choice) {
  graph::Program& program = merged_.program;
  const auto [entry, is_new] =
      tasks_.try_emplace(task.workload.digest(), static_cast<int>(program.tasks.size()));
  if (is_new) {
    program.tasks.push_back(task);
    program.tasks.back().occurrences = 0;
    merged_.choices.push_back(choice);
  }
  program.tasks[static_cast<size_t>(entry->second)].occurrences += task.occurrences;
  return entry->second;
}

int PlanMerger::ConstantFor(const graph::TensorDataRef& data) {
  std::vector<graph::TensorDataRef>& constants = merged_.program.constants;
  std::vector<int>& alike = constants_[DigestOf(std::span(data->bytes))];
  for (const int known : alike) {
    const graph::TensorDataRef& other = constants[static_cast<size_t>(known)];
    if (other == data || SameBytes(*other, *data)) return known;
  }
  alike.push_back(static_cast<int>(constants.size()));
  constants.push_back(data);
  return alike.back();
}

Status PlanMerger::Add(std::vector<int64_t> sizes, graph::Program program,
                       std::span<const Choice> choices,
                       std::vector<std::optional<graph::SizeForm>> rows) {
  graph::Program& all = merged_.program;
  std::vector<Plan>& plans = merged_.plans.plans;
  if (plans.empty()) {
    all.inputs = program.inputs;
    all.outputs = program.outputs;
  } else if (!SameKinds(all.inputs, program.inputs) || !SameKinds(all.outputs, program.outputs)) {
    return InvalidArgument(
        "the inputs or outputs of the model differ in number, type or rank between its sizes: "
        "compile a library for each");
  } else if (program.counted.count != plans.front().counted.count) {
    // Sessions hold one number for each, whatever the size.
    return InvalidArgument(
        "the number of shapes that depend on data differs between the sizes of the model: compile "
        "a "
        "library for each");
  }
  std::vector<int> task_of, constant_of;
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    task_of.push_back(TaskFor(program.tasks[i], choices[i]));
  }
  for (const graph::TensorDataRef& data : program.constants) {
    constant_of.push_back(ConstantFor(data));
  }
  const auto first_step = static_cast<int>(all.steps.size());
  const auto step_count = static_cast<int>(program.steps.size());
  for (graph::Step& step : program.steps) {
    step.task = task_of[static_cast<size_t>(step.task)];
    for (graph::Placement& place : step.operands) {
      if (place.kind != graph::Placement::Kind::kConstant) continue;
      place.index = constant_of[static_cast<size_t>(place.index)];
    }
    all.steps.push_back(std::move(step));
  }
  all.arena_bytes = std::max(all.arena_bytes, program.arena_bytes);
  all.unshared_bytes = std::max(all.unshared_bytes, program.unshared_bytes);
  plans.push_back({std::move(sizes), first_step, step_count, std::move(program.inputs),
                   std::move(program.outputs), program.arena_bytes, std::move(rows),
                   std::move(program.counted)});
  return {};
}

Result<MergedPrograms> PlanMerger::Take() {
  Plans& plans = merged_.plans;
  std::ranges::sort(plans.plans, {}, &Plan::sizes);
  MLC_TRY(CheckComplete(plans));
  merged_.program.inputs = plans.plans.front().inputs;
  merged_.program.outputs = plans.plans.front().outputs;
  plans.axes = AxesOf(plans);
  for (size_t d = 0; d < plans.dims.size(); ++d) {
    const auto is_its = [&](const SizeAxis& axis) { return axis.dim == static_cast<int>(d); };
    if (std::ranges::any_of(plans.axes, is_its)) continue;
    return InvalidArgument("no input has an axis of the length of '" + plans.dims[d] +
                           "': give one size of it");
  }
  return std::move(merged_);
}

}  // namespace mlc::package
