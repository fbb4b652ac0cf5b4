// The part of a model's static tables that a library for GPUs has: where the code of each kernel
// is, and its launches. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/image_builder.h"
#include "compiler/package/packed_code.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/runtime/image.h"
#include "compiler/target/target.h"

namespace mlc::package {

// `bases`: what CPUs have too, one a plan; completed here. The first images are those of the
// target, by plan; as many more are what newer devices run, where they cannot run all of its
// kernels. `code`: as WriteDeviceCode() has written it.
Result<std::vector<ImageTable>> AddDeviceTables(
    ImageBuilder& builder, const graph::Program& program, std::span<const Plan> plans,
    std::span<const TaskKernel> kernels, const WeightsPlan& weights, const DeviceCode& code,
    const target::Target& target, std::span<const mlc_image> bases);

}  // namespace mlc::package
