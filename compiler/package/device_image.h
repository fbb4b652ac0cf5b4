// The part of a model's static tables that a library for GPUs has: the code of each kernel and its
// launches. Pure but for the files of code that it reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/image_builder.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/runtime/image.h"
#include "compiler/target/target.h"

namespace mlc::package {

// `bases`: what CPUs have too, one a plan; completed here. The first images are those of the
// target, by plan; as many more are what newer devices run, where they cannot run all of its
// kernels. REQUIRES: CompileKernels() has run.
Result<std::vector<ImageTable>> AddDeviceTables(
    ImageBuilder& builder, const graph::Program& program, std::span<const Plan> plans,
    std::span<const TaskKernel> kernels, const WeightsPlan& weights, const target::Target& target,
    std::span<const mlc_image> bases);

}  // namespace mlc::package
