#include "compiler/package/device_image.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "compiler/codegen/cuda/driver_launch.h"
#include "compiler/package/device_kernels.h"  // AwaitsInputs

namespace mlc::package {

namespace {

// Older devices know no launch before the end of the one before it, and their code does not wait;
// nor does a user-supplied kernel, which has no phases.
bool MayBeginEarly(const ir::Kernel& kernel, size_t phase, const target::Target& target) {
  return target.gpu().compute >= 90 && phase < kernel.phases.size() &&
         AwaitsInputs(*kernel.phases[phase]);
}

int64_t AddLaunches(ImageBuilder& builder, const TaskKernel& kernel, const target::Target& target) {
  const std::vector<codegen::CudaLaunch>& launches = kernel.device.launches;
  std::vector<mlc_device_launch> rows;
  for (size_t i = 0; i < launches.size(); ++i) {
    mlc_device_launch row = {};
    row.grid = codegen::ForDriver(launches[i].grid);
    row.block = codegen::ForDriver(launches[i].block);
    row.block_bytes = static_cast<uint32_t>(launches[i].block_bytes);
    row.awaits = MayBeginEarly(kernel.lowered.kernel, i, target) ? 1 : 0;
    rows.push_back(row);
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t i = 0; i < launches.size(); ++i) {
    const auto at =
        static_cast<int64_t>(i * sizeof(mlc_device_launch) + offsetof(mlc_device_launch, function));
    builder.PointToText(table + at, builder.AddText(launches[i].function));
  }
  return table;
}

// The code of one image.
struct Code {
  const PackedCode* binaries = nullptr;
  const PackedCode* texts = nullptr;
};

int64_t PlaceIn(const PackedCode* code, size_t task) {
  return code == nullptr ? -1 : code->places[task];
}

int64_t AddKernels(ImageBuilder& builder, std::span<const TaskKernel* const> kernels,
                   const target::Target& target, const Code& code) {
  std::vector<mlc_device_kernel> rows;
  std::vector<int64_t> launches, maps;
  for (size_t i = 0; i < kernels.size(); ++i) {
    mlc_device_kernel row = {};
    row.binary = PlaceIn(code.binaries, i);
    row.portable = PlaceIn(code.texts, i);
    row.launch_count = static_cast<int64_t>(kernels[i]->device.launches.size());
    row.map_count = static_cast<int64_t>(kernels[i]->device.tensor_maps.size());
    rows.push_back(row);
    launches.push_back(AddLaunches(builder, *kernels[i], target));
    maps.push_back(builder.AddTable(kernels[i]->device.tensor_maps));
  }
  const int64_t table = builder.AddTable(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t at = table + static_cast<int64_t>(i * sizeof(mlc_device_kernel));
    const auto member = [at](size_t offset) { return at + static_cast<int64_t>(offset); };
    builder.PointToTable(member(offsetof(mlc_device_kernel, launches)), launches[i]);
    if (rows[i].map_count > 0) {
      builder.PointToTable(member(offsetof(mlc_device_kernel, maps)), maps[i]);
    }
  }
  return table;
}

mlc_packed_code FactsOf(const PackedCode* code) {
  if (code == nullptr) return {};
  return {nullptr, code->frame_bytes, code->bytes};
}

// What a step on a GPU needs: its phases are launches of the kernel's own table.
mlc_step NeedsOf(const TaskKernel& kernel) {
  mlc_step row = {};
  row.workspace_bytes = kernel.device.workspace_bytes;
  return row;
}

int64_t MostCounterBytes(std::span<const TaskKernel* const> kernels) {
  int64_t bytes = 0;
  for (const TaskKernel* kernel : kernels) bytes = std::max(bytes, kernel->device.counter_bytes);
  return bytes;
}

// What all images of a library share.
struct Shared {
  const graph::Program& program;
  std::span<const Plan> plans;
  const WeightsPlan& weights;
  const target::Target& target;
  std::span<const mlc_image> bases;      // by plan
  mlc_device_image image;                // with their facts
  std::vector<int64_t> step_kernels_at;  // by plan
};

// Which kernel each step of a plan runs.
int64_t AddStepKernels(ImageBuilder& builder, const graph::Program& program, const Plan& plan) {
  std::vector<int32_t> kernels;
  for (int s = 0; s < plan.step_count; ++s) {
    kernels.push_back(program.steps[static_cast<size_t>(plan.first_step + s)].task);
  }
  // Tables hold pointers: each begins at a multiple of 8 bytes.
  if (kernels.size() % 2 != 0) kernels.push_back(0);
  return builder.AddTable(kernels);
}

// One image for each plan. They share the code, and their needs of memory are the largest.
std::vector<ImageTable> AddImages(ImageBuilder& builder, const Shared& shared,
                                  std::span<const TaskKernel* const> kernels, const Code& code,
                                  int64_t upload_bytes) {
  std::vector<ImageTable> tables;
  std::vector<mlc_device_image> images;
  int64_t arena_bytes = 0, workspace_bytes = 0;
  for (size_t p = 0; p < shared.plans.size(); ++p) {
    mlc_device_image& image = images.emplace_back(shared.image);
    image.base = shared.bases[p];
    const int64_t steps_at = AddSteps(builder, shared.program, shared.plans[p], kernels,
                                      shared.weights, NeedsOf, {}, image.base);
    tables.push_back({p, steps_at, 0});
    arena_bytes = std::max(arena_bytes, image.base.arena_bytes);
    workspace_bytes = std::max(workspace_bytes, image.base.workspace_bytes);
  }
  const int64_t kernels_at = AddKernels(builder, kernels, shared.target, code);
  for (size_t p = 0; p < images.size(); ++p) {
    images[p].base.arena_bytes = arena_bytes;
    images[p].base.workspace_bytes = workspace_bytes;
    images[p].counter_bytes = MostCounterBytes(kernels);
    images[p].upload_bytes = upload_bytes;
    images[p].binaries = FactsOf(code.binaries);
    images[p].texts = FactsOf(code.texts);
    tables[p].image_at = builder.AddTable(std::vector<mlc_device_image>{images[p]});
    const auto member = [&](size_t offset) {
      return tables[p].image_at + static_cast<int64_t>(offset);
    };
    builder.PointToTable(member(offsetof(mlc_device_image, kernels)), kernels_at);
    builder.PointToTable(member(offsetof(mlc_device_image, step_kernels)),
                         shared.step_kernels_at[p]);
    const auto point = [&](size_t offset, const PackedCode* packed) {
      if (packed == nullptr) return;
      const size_t frame = offset + offsetof(mlc_packed_code, frame);
      builder.PointTo(member(frame), packed->symbol);
    };
    point(offsetof(mlc_device_image, binaries), code.binaries);
    point(offsetof(mlc_device_image, texts), code.texts);
  }
  return tables;
}

}  // namespace

Result<std::vector<ImageTable>> AddDeviceTables(
    ImageBuilder& builder, const graph::Program& program, std::span<const Plan> plans,
    std::span<const TaskKernel> kernels, const WeightsPlan& weights, const DeviceCode& code,
    const target::Target& target, std::span<const mlc_image> bases) {
  const std::vector<const TaskKernel*> own = OwnKernels(program, kernels);
  const std::vector<const TaskKernel*> newer = KernelsForNewer(program, kernels);
  const PackedCode* const texts = code.texts ? &*code.texts : nullptr;
  Shared shared{program, plans, weights, target, bases, {}, {}};
  for (const Plan& plan : plans) {
    shared.step_kernels_at.push_back(AddStepKernels(builder, program, plan));
  }
  shared.image.kernel_count = static_cast<int32_t>(own.size());
  shared.image.compute = target.gpu().compute;
  shared.image.arch_specific = target.gpu().arch_specific ? 1 : 0;
  shared.image.portable_compute = texts != nullptr ? target.gpu().compute : 0;
  // With a substitute, newer devices have tables of their own.
  const bool apart = texts != nullptr && own != newer;
  std::vector<ImageTable> tables =
      AddImages(builder, shared, own, {&code.binaries, apart ? nullptr : texts}, weights.own_bytes);
  if (!apart) return tables;
  const std::vector<ImageTable> others =
      AddImages(builder, shared, newer, {nullptr, texts}, weights.bytes);
  builder.PointToTable(tables[0].image_at + static_cast<int64_t>(offsetof(mlc_device_image, newer)),
                       others[0].image_at);
  tables.insert(tables.end(), others.begin(), others.end());
  return tables;
}

}  // namespace mlc::package
