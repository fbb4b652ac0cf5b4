#include "compiler/package/cpu_image.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

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
                                             const WeightsPlan& weights,
                                             const target::Target& target,
                                             std::span<const mlc_image> bases) {
  const std::vector<const TaskKernel*> own = OwnKernels(program, kernels);
  const std::vector<int64_t> phases = AddPhases(builder, own);
  std::vector<mlc_image> images(bases.begin(), bases.end());
  std::vector<ImageTable> tables;
  mlc_image most = {};
  for (size_t p = 0; p < plans.size(); ++p) {
    mlc_image& image = images[p];
    const int64_t steps_at =
        AddSteps(builder, program, plans[p], own, weights, NeedsOf, phases, image);
    tables.push_back({p, steps_at, 0});
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
