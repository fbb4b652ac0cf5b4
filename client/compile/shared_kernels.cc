#include "client/compile/shared_kernels.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "client/compile/choose_kernels.h"
#include "client/compile/fewest_kernels.h"
#include "client/compile/first_rows.h"
#include "compiler/schedule/space/check_config.h"

namespace mlc::client {

namespace {

using graph::Placement;

const graph::Task& TaskOf(const graph::Program& program, size_t step) {
  return program.tasks[static_cast<size_t>(program.steps[step].task)];
}

const package::Choice& ChoiceOf(const ClassPlan& plan, size_t step) {
  return plan.choices[static_cast<size_t>(plan.program.steps[step].task)];
}

bool IsSame(const ClassPlan& a, const ClassPlan& b, size_t step) {
  return TaskOf(a.program, step).workload.digest() == TaskOf(b.program, step).workload.digest();
}

std::vector<Digest> DigestsOf(const graph::Program& program) {
  std::vector<Digest> digests;
  for (const graph::TensorDataRef& data : program.constants) {
    digests.push_back(DigestOf(std::span(data->bytes)));
  }
  return digests;
}

// Puts a task and its kernel into a program under construction; the place of an equal one.
int PlaceOf(ClassPlan& plan, const graph::Task& task, const package::Choice& choice) {
  std::vector<graph::Task>& tasks = plan.program.tasks;
  const auto same = [&](const graph::Task& other) {
    return other.workload.digest() == task.workload.digest();
  };
  auto found = std::ranges::find_if(tasks, same);
  if (found == tasks.end()) {
    found = tasks.insert(found, task);
    found->occurrences = 0;
    plan.choices.push_back(choice);
  }
  ++found->occurrences;
  return static_cast<int>(found - tasks.begin());
}

// A step of a class in the memory of the largest one, but for constants.
graph::Step MovedStep(const graph::Program& own, const graph::Step& largest, size_t step,
                      graph::Program& into) {
  graph::Step moved = largest;
  const std::vector<Placement>& operands = own.steps[step].operands;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].kind != Placement::Kind::kConstant) continue;
    moved.operands[k] = operands[k];
    moved.operands[k].index = static_cast<int>(into.constants.size());
    into.constants.push_back(own.constants[static_cast<size_t>(operands[k].index)]);
  }
  return moved;
}

// Steps that have one task in each class.
std::vector<std::vector<size_t>> StepsByTasks(std::span<ClassPlan* const> plans) {
  std::map<std::vector<int>, size_t> groups;
  std::vector<std::vector<size_t>> steps;
  for (size_t s = 0; s < plans.front()->program.steps.size(); ++s) {
    std::vector<int> tasks;
    for (const ClassPlan* plan : plans) tasks.push_back(plan->program.steps[s].task);
    const auto [entry, is_new] = groups.try_emplace(std::move(tasks), steps.size());
    if (is_new) steps.emplace_back();
    steps[entry->second].push_back(s);
  }
  return steps;
}

size_t CountOf(const std::vector<size_t>& kernels) {
  return std::set<size_t>(kernels.begin(), kernels.end()).size();
}

// Into how many parts the work is cut, of another config of the family.
void CopyChunks(const schedule::Config& from, schedule::Config& to) {
  if (from.family != to.family || from.version != to.version) return;
  for (auto& [name, value] : to.knobs) {
    if (name != "row_chunks" && name != "col_chunks" && name != "ch_chunks") continue;
    const auto knob = std::ranges::find(from.knobs, name, &std::pair<std::string, int64_t>::first);
    if (knob != from.knobs.end()) value = knob->second;
  }
}

}  // namespace

bool SharedKernels::Fits(const ClassPlan& plan, const ClassPlan& largest, int hidden_input) {
  const graph::Program &own = plan.program, &whole = largest.program;
  return graph::RowsOfSteps(own, whole, hidden_input) && AreFirstRows(own.inputs, whole.inputs) &&
         AreFirstRows(own.outputs, whole.outputs) &&
         graph::SourcesOf(own) == graph::SourcesOf(whole);
}

SharedKernels::Chain SharedKernels::ChainOf(std::vector<ClassPlan*> plans, int hidden_input) {
  Chain chain;
  const size_t steps = plans.front()->program.steps.size();
  chain.sources = graph::SourcesOf(plans.front()->program);
  for (size_t i = 0; i < plans.size(); ++i) {
    chain.constants.push_back(DigestsOf(plans[i]->program));
    chain.kernels.emplace_back(steps, i);
    std::vector<Rows>& rows = chain.rows.emplace_back(i + 1);
    for (size_t j = 0; j < i; ++j) {
      rows[j] = graph::RowsOfSteps(plans[i]->program, plans[j]->program, hidden_input);
    }
  }
  chain.plans = std::move(plans);
  return chain;
}

// Whether a step of class `of` may run the kernel of the class `with`. Elements beyond the length
// are to be there up to the end of that class where a mask has set them or indices come from them.
bool SharedKernels::MayShare(const Chain& chain, size_t step, size_t of, size_t with) {
  const ClassPlan &own = *chain.plans[of], &larger = *chain.plans[with];
  const Rows& rows = chain.rows[of][with];
  if (!rows || !HaveSameAttributes(own.program, larger.program, step) ||
      !AreFirstRows(own.program, larger.program, step) ||
      !HasFirstConstants(own.program, chain.constants[of], larger.program, chain.constants[with],
                         step)) {
    return false;
  }
  return std::ranges::all_of(chain.sources[step], [&](const graph::Source& source) {
    const auto from = static_cast<size_t>(source.step);
    if ((*rows)[from] >= 0 || IsSame(own, larger, from)) return true;
    const size_t run = chain.kernels[of][from];
    return run == with || (run < with && chain.rows[with][run]);
  });
}

// By class `of`, for all of the steps.
double SharedKernels::CostOf(const Chain& chain, std::span<const size_t> steps, size_t of,
                             size_t with) {
  const ClassPlan &own = *chain.plans[of], &larger = *chain.plans[with];
  const size_t first = steps.front();
  const graph::Task& task = TaskOf(own.program, first);
  const package::Choice& choice = ChoiceOf(own, first);
  if (of == with) return times_.Of(task, choice);
  for (const size_t step : steps) {
    if (!MayShare(chain, step, of, with)) return kNotAllowed;
  }
  if (IsSame(own, larger, first)) return times_.Of(task, choice);
  int64_t rows = (*chain.rows[of][with])[first];
  for (const size_t step : steps) rows = std::min(rows, (*chain.rows[of][with])[step]);
  const std::optional<double> shared =
      times_.WithLarger(task, choice, TaskOf(larger.program, first), ChoiceOf(larger, first), rows);
  const double slack = chain.slack_ns[of] / static_cast<double>(steps.size());
  const bool is_fast_enough =
      shared && *shared <= times_.Of(task, choice) * kMostSlowerShared + slack;
  return is_fast_enough ? *shared : kNotAllowed;
}

void SharedKernels::ChooseKernels(Chain& chain) {
  const std::vector<std::vector<size_t>> groups = StepsByTasks(chain.plans);
  for (const ClassPlan* plan : chain.plans) {
    double ns = 0;
    for (size_t s = 0; s < plan->program.steps.size(); ++s) {
      ns += times_.Of(TaskOf(plan->program, s), ChoiceOf(*plan, s));
    }
    chain.slack_ns.push_back(ns * kSlackOfClass / static_cast<double>(groups.size()));
  }
  for (const std::vector<size_t>& steps : groups) {
    const std::vector<size_t> kernels = SplitFiner(chain, steps);
    for (const size_t step : steps) {
      for (size_t i = 0; i < kernels.size(); ++i) chain.kernels[i][step] = kernels[i];
    }
  }
}

std::vector<size_t> SharedKernels::KernelsOf(const Chain& chain, std::span<const size_t> steps) {
  const size_t count = chain.plans.size();
  std::vector<std::vector<double>> cost(count, std::vector<double>(count, kNotAllowed));
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j <= i; ++j) cost[i][j] = CostOf(chain, steps, i, j);
  }
  return FewestKernels(cost);
}

std::vector<size_t> SharedKernels::SplitFiner(const Chain& chain, std::span<const size_t> steps) {
  std::vector<size_t> kernels = KernelsOf(chain, steps);
  ClassPlan& largest = *chain.plans.front();
  const size_t step = steps.front();
  const graph::Task& task = TaskOf(largest.program, step);
  package::Choice& choice = largest.choices[static_cast<size_t>(largest.program.steps[step].task)];
  const double most = times_.Of(task, choice) * kMostSlowerSplit;
  if (IsTuned(choice) || CountOf(kernels) == 1 || most <= 0) return kernels;
  package::Choice best = choice;
  std::set<std::string> tried = {choice.config.ToText()};
  for (size_t i = 1; i < chain.plans.size(); ++i) {
    package::Choice split = best;
    CopyChunks(ChoiceOf(*chain.plans[i], step).config, split.config);
    if (!tried.insert(split.config.ToText()).second ||
        !schedule::CheckConfig(task.workload, times_.target(), split.config).ok() ||
        times_.Of(task, split) > most) {
      continue;
    }
    choice = split;
    std::vector<size_t> of_split = KernelsOf(chain, steps);
    if (CountOf(of_split) < CountOf(kernels)) {
      kernels = std::move(of_split);
      best = choice;
    }
  }
  choice = std::move(best);
  return kernels;
}

ClassPlan SharedKernels::PlanOf(const Chain& chain, size_t of) const {
  const ClassPlan &largest = *chain.plans.front(), &own = *chain.plans[of];
  ClassPlan plan{largest.program, {}, own.rows, own.in_largest};
  plan.program.tasks.clear();
  plan.program.steps.clear();
  plan.rows.resize(own.program.steps.size());
  for (size_t s = 0; s < own.program.steps.size(); ++s) {
    const size_t with = chain.kernels[of][s];
    const ClassPlan& other = *chain.plans[with];
    graph::Step step = largest.program.steps[s];
    if (with != 0) step = MovedStep(other.program, step, s, plan.program);
    step.task = PlaceOf(plan, TaskOf(other.program, s), ChoiceOf(other, s));
    plan.program.steps.push_back(std::move(step));
    if (with == of || IsSame(own, other, s) || plan.rows[s]) continue;
    const int64_t rows = (*chain.rows[of][with])[s];
    if (rows >= 0) plan.rows[s] = graph::SizeForm{rows, std::vector<int64_t>(dims_, 0)};
  }
  return plan;
}

void SharedKernels::Share(std::vector<ClassPlan>& plans, int hidden_input) {
  std::vector<std::vector<size_t>> alike;
  for (size_t i = 0; i < plans.size(); ++i) {
    const auto found = std::ranges::find_if(alike, [&](const std::vector<size_t>& members) {
      return plans[i].in_largest && plans[members.front()].in_largest &&
             Fits(plans[i], plans[members.front()], hidden_input);
    });
    if (found == alike.end()) {
      alike.push_back({i});
    } else {
      found->push_back(i);
    }
  }
  for (const std::vector<size_t>& members : alike) {
    if (members.size() == 1) continue;
    std::vector<ClassPlan*> of_chain;
    for (const size_t i : members) of_chain.push_back(&plans[i]);
    Chain chain = ChainOf(std::move(of_chain), hidden_input);
    ChooseKernels(chain);
    std::vector<ClassPlan> shared;
    for (size_t i = 1; i < members.size(); ++i) shared.push_back(PlanOf(chain, i));
    for (size_t i = 1; i < members.size(); ++i) plans[members[i]] = std::move(shared[i - 1]);
  }
}

}  // namespace mlc::client
