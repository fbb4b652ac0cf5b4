// The part of a model's static tables that a library for GPUs has: the code of each kernel and its
// launches. Pure but for the files of code that it reads.
#pragma once

#include <cstdint>
#include <span>

#include "compiler/base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/image_builder.h"
#include "compiler/package/kernels.h"
#include "compiler/package/weights.h"
#include "compiler/runtime/image.h"
#include "compiler/target/target.h"

namespace mlc::package {

// Offsets of tables.
struct DeviceTables {
  int64_t steps_at = 0;
  int64_t image_at = 0;  // of the mlc_device_image, which begins with the mlc_image
};

// `base`: what processors have too; completed here. REQUIRES: CompileKernels() has run.
Result<DeviceTables> AddDeviceTables(ImageBuilder& builder, const graph::Program& program,
                                     std::span<const TaskKernel> kernels,
                                     const WeightsPlan& weights, const target::Target& target,
                                     const mlc_image& base);

}  // namespace mlc::package
