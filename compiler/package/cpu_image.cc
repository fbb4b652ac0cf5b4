#include "compiler/package/cpu_image.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/stored_rows.h"
#include "compiler/package/row_limits.h"

namespace mlc::package {

namespace {

uint32_t FeaturesOf(const target::CpuTarget& cpu) {
  switch (cpu.isa) {
    case target::Isa::kAvx512Vnni:
      return MLC_NEEDS_AVX2 | MLC_NEEDS_AVX512 | MLC_NEEDS_AVX512_VNNI;
    case target::Isa::kAvx512:
      return MLC_NEEDS_AVX2 | MLC_NEEDS_AVX512;
    case target::Isa::kAvx2:
      return MLC_NEEDS_AVX2;
    case target::Isa::kPlain:
    case target::Isa::kNeon:
      return 0;
  }
  return 0;
}

// One table of phases per task: steps of the same task share it.
std::vector<int64_t> AddPhases(ImageBuilder& builder, std::span<const TaskKernel* const> kernels) {
  std::vector<int64_t> tables;
  for (const TaskKernel* kernel : kernels) {
    std::vector<mlc_phase> rows;
    for (const int64_t extent : kernel->layout.phase_extents) rows.push_back({nullptr, extent});
    const int64_t table = builder.AddTable(rows);
    for (size_t p = 0; p < rows.size(); ++p) {
      builder.PointTo(table + static_cast<int64_t>(p * sizeof(mlc_phase) + offsetof(mlc_phase, fn)),
                      kernel->lowered.kernel.name + "_p" + std::to_string(p));
    }
    tables.push_back(table);
  }
  return tables;
}

// What the phases of a kernel make of the rows of its results; no offset: none has a bound.
std::optional<int64_t> AddLoops(ImageBuilder& builder, const graph::Workload& workload,
                                const TaskKernel& kernel) {
  const std::vector<int64_t> row_elements = RowElementsOf(workload, kernel);
  const std::vector<ir::LoopRows> loops = ir::StoredRows(kernel.lowered.kernel, row_elements);
  if (std::ranges::none_of(loops, &ir::LoopRows::bounds)) return std::nullopt;
  std::vector<mlc_loop_rows> rows;
  for (const ir::LoopRows& loop : loops) {
    rows.push_back({nullptr, static_cast<int64_t>(loop.first.size())});
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t p = 0; p < loops.size(); ++p) {
    if (!loops[p].bounds()) continue;
    const std::vector<int32_t> first(loops[p].first.begin(), loops[p].first.end());
    const int64_t numbers = builder.AddBlob(
        {reinterpret_cast<const char*>(first.data()), first.size() * sizeof(int32_t)});
    builder.PointToText(
        table + static_cast<int64_t>(p * sizeof(mlc_loop_rows) + offsetof(mlc_loop_rows, first)),
        numbers);
  }
  return table;
}

// Adds to the steps of plans what bounds their loops.
class BoundWriter {
 public:
  BoundWriter(ImageBuilder& builder, const graph::Program& program,
              std::span<const TaskKernel* const> kernels)
      : builder_(builder), program_(program), kernels_(kernels) {}

  void Add(const Plan& plan, int64_t steps_at) {
    for (size_t s = 0; s < plan.rows.size(); ++s) {
      if (!plan.rows[s]) continue;
      const graph::Step& step = program_.steps[static_cast<size_t>(plan.first_step) + s];
      const std::optional<int64_t> loops = LoopsOf(step.task);
      const bool has_limit = kernels_[static_cast<size_t>(step.task)]->lowered.kernel.limit >= 0;
      if (!loops && !has_limit) continue;
      const auto row = steps_at + static_cast<int64_t>(s * sizeof(mlc_step));
      if (loops) {
        builder_.PointToTable(row + static_cast<int64_t>(offsetof(mlc_step, loops)), *loops);
      }
      builder_.PointToText(row + static_cast<int64_t>(offsetof(mlc_step, rows)),
                           FormAt(*plan.rows[s]));
    }
  }

 private:
  std::optional<int64_t> LoopsOf(int task) {
    const auto [entry, is_new] = loops_.try_emplace(task);
    const auto at = static_cast<size_t>(task);
    if (is_new) entry->second = AddLoops(builder_, program_.tasks[at].workload, *kernels_[at]);
    return entry->second;
  }

  int64_t FormAt(const graph::SizeForm& form) {
    const auto [entry, is_new] = forms_.try_emplace(form);
    if (is_new) {
      std::vector<int64_t> numbers = {form.base};
      numbers.insert(numbers.end(), form.factors.begin(), form.factors.end());
      entry->second = builder_.AddDims(numbers);
    }
    return entry->second;
  }

  ImageBuilder& builder_;
  const graph::Program& program_;
  const std::span<const TaskKernel* const> kernels_;
  std::map<int, std::optional<int64_t>> loops_;  // by task
  std::map<graph::SizeForm, int64_t> forms_;
};

// What a step on a CPU needs.
mlc_step NeedsOf(const TaskKernel& kernel) {
  mlc_step row = {};
  row.workspace_bytes = kernel.layout.workspace_bytes;
  row.thread_bytes = kernel.layout.thread_bytes;
  row.phase_count = static_cast<int32_t>(kernel.layout.phase_extents.size());
  return row;
}

}  // namespace

Result<std::vector<ImageTable>> AddCpuTables(ImageBuilder& builder, const graph::Program& program,
                                             std::span<const Plan> plans,
                                             std::span<const TaskKernel> kernels,
                                             const WeightsPlan& weights, const DeviceCode& /*code*/,
                                             const target::Target& target,
                                             std::span<const mlc_image> bases) {
  const std::vector<const TaskKernel*> own = OwnKernels(program, kernels);
  const std::vector<int64_t> phases = AddPhases(builder, own);
  std::vector<mlc_image> images(bases.begin(), bases.end());
  std::vector<ImageTable> tables;
  BoundWriter bounds(builder, program, own);
  mlc_image most = {};
  for (size_t p = 0; p < plans.size(); ++p) {
    mlc_image& image = images[p];
    const int64_t steps_at =
        AddSteps(builder, program, plans[p], own, weights, NeedsOf, phases, image);
    tables.push_back({p, steps_at, 0});
    bounds.Add(plans[p], steps_at);
    most.arena_bytes = std::max(most.arena_bytes, image.arena_bytes);
    most.workspace_bytes = std::max(most.workspace_bytes, image.workspace_bytes);
    most.thread_bytes = std::max(most.thread_bytes, image.thread_bytes);
  }
  for (size_t p = 0; p < plans.size(); ++p) {
    images[p].arena_bytes = most.arena_bytes;
    images[p].workspace_bytes = most.workspace_bytes;
    images[p].thread_bytes = most.thread_bytes;
    images[p].threads = target.cpu().threads;
    images[p].required_features = FeaturesOf(target.cpu());
    tables[p].image_at = builder.AddTable(std::vector<mlc_image>{images[p]});
  }
  return tables;
}

}  // namespace mlc::package
