#include "client/compile/shared_kernels.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "client/compile/choose_kernels.h"
#include "compiler/backend/backend.h"
#include "compiler/graph/ranged/step_rows.h"
#include "compiler/ir/limit_loops.h"
#include "compiler/package/row_limits.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"

namespace mlc::client {

namespace {

using graph::Placement;

// Whether values of the smaller type are the first rows of those of the larger one, in memory.
bool AreFirstRows(const graph::TensorType& smaller, const graph::TensorType& larger) {
  if (smaller == larger) return true;
  if (smaller.dtype != larger.dtype || smaller.rank() != larger.rank()) return false;
  const int axis = graph::RowAxis(larger);
  const std::vector<int64_t> a = smaller.EffectiveStrides(), b = larger.EffectiveStrides();
  for (size_t i = 0; i < a.size(); ++i) {
    if (static_cast<int>(i) != axis && smaller.dims[i] != larger.dims[i]) return false;
    if (smaller.dims[i] > 1 && a[i] != b[i]) return false;
  }
  return true;
}

bool AreFirstRows(const std::vector<graph::Port>& smaller, const std::vector<graph::Port>& larger) {
  return std::equal(
      smaller.begin(), smaller.end(), larger.begin(), larger.end(),
      [](const graph::Port& a, const graph::Port& b) { return AreFirstRows(a.type, b.type); });
}

const graph::Task& TaskOf(const graph::Program& program, size_t step) {
  return program.tasks[static_cast<size_t>(program.steps[step].task)];
}

bool AreFirstRows(const graph::Workload& smaller, const graph::Workload& larger) {
  const auto same = [&](const std::vector<graph::ValueId>& ids) {
    return std::ranges::all_of(ids, [&](graph::ValueId id) {
      return AreFirstRows(smaller.graph()[id].type, larger.graph()[id].type);
    });
  };
  return same(smaller.operands()) && same(smaller.outputs());
}

bool SameBytes(const graph::TensorData& a, const graph::TensorData& b) {
  return a.bytes.size() == b.bytes.size() &&
         (a.bytes.data() == b.bytes.data() ||
          std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0);
}

// Whether the larger program's steps read the same constants.
bool SameConstants(const graph::Program& smaller, const graph::Program& larger, size_t step) {
  const std::vector<Placement>& a = smaller.steps[step].operands;
  const std::vector<Placement>& b = larger.steps[step].operands;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].kind != Placement::Kind::kConstant) continue;
    if (a[k].byte_offset != b[k].byte_offset ||
        !SameBytes(*smaller.constants[static_cast<size_t>(a[k].index)],
                   *larger.constants[static_cast<size_t>(b[k].index)])) {
      return false;
    }
  }
  return true;
}

std::optional<double> EstimatedNs(const graph::Workload& workload, const target::Target& target,
                                  const schedule::Config& config) {
  const schedule::Family* family = schedule::FindFamily(config.family);
  if (family == nullptr || !family->Accepts(workload, target)) return std::nullopt;
  return backend::BackendOf(target)
      .estimate(family->Facts(workload, target, config), target)
      .total_ns;
}

bool IsSame(const graph::Program& a, const graph::Program& b, size_t step) {
  return TaskOf(a, step).workload.digest() == TaskOf(b, step).workload.digest();
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

// A step of its own in the memory of the larger program, but for constants.
graph::Step MovedStep(const graph::Program& own, const graph::Step& larger, size_t step,
                      graph::Program& into) {
  graph::Step moved = larger;
  const std::vector<Placement>& operands = own.steps[step].operands;
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].kind != Placement::Kind::kConstant) continue;
    moved.operands[k] = operands[k];
    moved.operands[k].index = static_cast<int>(into.constants.size());
    into.constants.push_back(own.constants[static_cast<size_t>(operands[k].index)]);
  }
  return moved;
}

}  // namespace

const SharedKernels::Loops& SharedKernels::LoopsOf(const graph::Workload& workload,
                                                   const package::Choice& choice) {
  const auto [entry, is_new] = loops_.try_emplace(workload.digest());
  Loops& loops = entry->second;
  if (!is_new || schedule::IsUserKernel(choice.config)) return loops;
  Result<schedule::LoweredKernel> lowered = schedule::LowerConfig(workload, target_, choice.config);
  if (!lowered.ok()) return loops;  // the build says why
  package::TaskKernel kernel;
  kernel.lowered = *std::move(lowered);
  const std::vector<int64_t> row_elements = package::RowElementsOf(workload, kernel);
  const ir::Kernel limited =
      ir::LimitLoops(kernel.lowered.kernel, kernel.lowered.row_loops, row_elements);
  loops.phases = ir::StoredRows(limited, row_elements);
  loops.extents = codegen::LayoutOf(limited).phase_extents;
  const graph::TensorType& type = workload.graph()[workload.outputs()[0]].type;
  const int axis = graph::RowAxis(type);
  if (axis >= 0) loops.rows = type.dims[static_cast<size_t>(axis)];
  if (limited.limit < 0) return loops;
  for (const ir::RowLoop& loop : kernel.lowered.row_loops) {
    loops.tile = std::max(loops.tile, loop.rows);
  }
  return loops;
}

// Of the time of all rows; 1 if no loop has a bound. The last phase is what takes the time.
double SharedKernels::ShareOfTime(const Loops& loops, int64_t rows) const {
  if (loops.phases.empty()) return 1;
  double share = 1;
  const ir::LoopRows& last = loops.phases.back();
  int64_t iterations = loops.extents.back();
  if (last.bounds()) {
    const auto group = static_cast<int64_t>(last.first.size());
    iterations = iterations / group * last.RunsFor(rows);
    share = static_cast<double>(last.RunsFor(rows)) / static_cast<double>(group);
  }
  if (loops.tile > 0) {
    const double tiles = static_cast<double>((rows + loops.tile - 1) / loops.tile * loops.tile);
    share = std::min(share, tiles / static_cast<double>(loops.rows));
  }
  // Whole iterations: one thread may have more of them than another.
  const int64_t threads = target_.cpu().threads;
  const int64_t rounds = (iterations + threads - 1) / threads;
  return share * static_cast<double>(rounds * threads) /
         static_cast<double>(std::max<int64_t>(iterations, 1));
}

bool SharedKernels::IsFastEnough(const graph::Task& task, const package::Choice& choice,
                                 const graph::Task& larger, const package::Choice& of_larger,
                                 int64_t rows) {
  const double share = ShareOfTime(LoopsOf(larger.workload, of_larger), rows);
  if (IsTuned(choice) && IsTuned(of_larger)) {
    return of_larger.expected_ns * share <= choice.expected_ns * kMostSlowerShared;
  }
  const auto own = EstimatedNs(task.workload, target_, choice.config);
  const auto shared = EstimatedNs(larger.workload, target_, of_larger.config);
  return own && shared && *shared * share <= *own * kMostSlowerShared;
}

bool SharedKernels::MayShare(const ClassPlan& larger, const ClassPlan& plan, size_t step,
                             std::span<const int64_t> rows) {
  const graph::Program &own = plan.program, &whole = larger.program;
  const graph::Task &task = TaskOf(own, step), &of_larger = TaskOf(whole, step);
  if (!SameConstants(own, whole, step)) return false;
  if (IsSame(own, whole, step)) return true;
  if (rows[step] < 0 || !AreFirstRows(task.workload, of_larger.workload)) return false;
  // What a mask has set beyond the length is to be there up to the end of the larger class.
  for (const graph::Source& source : sources_[step]) {
    const auto from = static_cast<size_t>(source.step);
    if (rows[from] < 0 && !IsSame(own, whole, from)) return false;
  }
  return IsFastEnough(task, plan.choices[static_cast<size_t>(own.steps[step].task)], of_larger,
                      larger.choices[static_cast<size_t>(whole.steps[step].task)], rows[step]);
}

bool SharedKernels::ShareWith(const ClassPlan& larger, ClassPlan& plan, int hidden_input) {
  const graph::Program &own = plan.program, &whole = larger.program;
  const auto rows = graph::RowsOfSteps(own, whole, hidden_input);
  if (!rows || !AreFirstRows(own.inputs, whole.inputs) ||
      !AreFirstRows(own.outputs, whole.outputs)) {
    return false;
  }
  sources_ = graph::SourcesOf(own);
  if (sources_ != graph::SourcesOf(whole)) return false;
  ClassPlan shared{whole, {}, plan.rows};
  shared.program.tasks.clear();
  shared.program.steps.clear();
  shared.rows.resize(own.steps.size());
  for (size_t s = 0; s < own.steps.size(); ++s) {
    if (MayShare(larger, plan, s, *rows)) {
      shared.program.steps.push_back(whole.steps[s]);
      shared.program.steps.back().task = PlaceOf(
          shared, TaskOf(whole, s), larger.choices[static_cast<size_t>(whole.steps[s].task)]);
      if (IsSame(own, whole, s) || shared.rows[s]) continue;
      shared.rows[s] = graph::SizeForm{(*rows)[s], std::vector<int64_t>(dims_, 0)};
      continue;
    }
    graph::Step moved = MovedStep(own, whole.steps[s], s, shared.program);
    moved.task =
        PlaceOf(shared, TaskOf(own, s), plan.choices[static_cast<size_t>(own.steps[s].task)]);
    shared.program.steps.push_back(std::move(moved));
  }
  plan = std::move(shared);
  return true;
}

void SharedKernels::Share(ClassPlan& plan, int hidden_input) {
  for (const ClassPlan& larger : larger_) {
    if (ShareWith(larger, plan, hidden_input)) return;
  }
  larger_.push_back(plan);
}

}  // namespace mlc::client
