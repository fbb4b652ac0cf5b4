#include "compiler/package/device_image.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "compiler/package/device_kernels.h"

namespace mlc::package {

namespace {

// Older devices know no launch before the end of the one before it, and their code does not wait;
// nor does what is written by hand, which has no phases.
bool MayBeginEarly(const ir::Kernel& kernel, size_t phase, const target::Target& target) {
  return target.compute >= 90 && phase < kernel.phases.size() &&
         AwaitsInputs(*kernel.phases[phase]);
}

int64_t AddLaunches(ImageBuilder& builder, const TaskKernel& kernel, const target::Target& target) {
  const std::vector<codegen::CudaLaunch>& launches = kernel.device.launches;
  std::vector<mlc_device_launch> rows;
  for (size_t i = 0; i < launches.size(); ++i) {
    mlc_device_launch row = {};
    row.blocks = static_cast<uint32_t>(launches[i].blocks);
    row.threads = static_cast<uint32_t>(launches[i].threads);
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

struct KernelTable {
  int64_t at = 0;
  bool portable = true;  // every kernel has a portable text
};

Result<KernelTable> AddKernels(ImageBuilder& builder, std::span<const TaskKernel> kernels,
                               const target::Target& target) {
  std::vector<mlc_device_kernel> rows;
  std::vector<int64_t> launches, binaries, texts;
  for (const TaskKernel& kernel : kernels) {
    mlc_device_kernel row = {};
    row.launch_count = static_cast<int64_t>(kernel.device.launches.size());
    rows.push_back(row);
    launches.push_back(AddLaunches(builder, kernel, target));
    binaries.push_back(builder.AddBlob(MLC_TRY(ReadFile(kernel.object_path))));
    const std::string text = MLC_TRY(ReadFile(kernel.portable_path));
    texts.push_back(text.empty() ? -1 : builder.AddBlob(text));
  }
  KernelTable result;
  result.at = builder.AddTable(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t at = result.at + static_cast<int64_t>(i * sizeof(mlc_device_kernel));
    const auto member = [at](size_t offset) { return at + static_cast<int64_t>(offset); };
    builder.PointToTable(member(offsetof(mlc_device_kernel, launches)), launches[i]);
    builder.PointToText(member(offsetof(mlc_device_kernel, binary)), binaries[i]);
    if (texts[i] < 0) {
      result.portable = false;
    } else {
      builder.PointToText(member(offsetof(mlc_device_kernel, portable)), texts[i]);
    }
  }
  return result;
}

// What a step on a GPU needs: its phases are launches of the kernel's own table.
mlc_step NeedsOf(const TaskKernel& kernel) {
  mlc_step row = {};
  row.shared_bytes = kernel.device.shared_bytes;
  return row;
}

}  // namespace

Result<DeviceTables> AddDeviceTables(ImageBuilder& builder, const graph::Program& program,
                                     std::span<const TaskKernel> kernels,
                                     const WeightsPlan& weights, const target::Target& target,
                                     const mlc_image& base) {
  DeviceTables tables;
  mlc_device_image image = {};
  image.base = base;
  tables.steps_at = AddSteps(builder, program, kernels, weights, NeedsOf, {}, image.base);
  const KernelTable table = MLC_TRY(AddKernels(builder, kernels, target));
  std::vector<int32_t> step_kernels;
  for (const graph::Step& step : program.steps) step_kernels.push_back(step.task);
  // Tables hold pointers: each begins at a multiple of 8 bytes.
  if (step_kernels.size() % 2 != 0) step_kernels.push_back(0);
  const int64_t step_kernels_at = builder.AddTable(step_kernels);
  for (const TaskKernel& kernel : kernels) {
    image.counter_bytes = std::max(image.counter_bytes, kernel.device.counter_bytes);
  }
  image.kernel_count = static_cast<int32_t>(kernels.size());
  image.compute = target.compute;
  image.arch_specific = target.arch_specific ? 1 : 0;
  image.portable_compute = table.portable ? target.compute : 0;
  tables.image_at = builder.AddTable(std::vector<mlc_device_image>{image});
  const auto member = [&](size_t offset) { return tables.image_at + static_cast<int64_t>(offset); };
  builder.PointToTable(member(offsetof(mlc_device_image, kernels)), table.at);
  builder.PointToTable(member(offsetof(mlc_device_image, step_kernels)), step_kernels_at);
  return tables;
}

}  // namespace mlc::package
