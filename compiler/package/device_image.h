// The static tables of a library for GPUs: the code of each kernel and its launches. Pure, except
// that it reads the files of code.
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

// `base`: the tables that all kinds of devices have; this function completes them. The first image
// is for the target. If newer devices cannot run all of its kernels, a second one is for them.
// REQUIRES: CompileKernels() has run.
Result<std::vector<ImageTable>> AddDeviceTables(
    ImageBuilder& builder, const graph::Program& program, std::span<const TaskKernel> kernels,
    const WeightsPlan& weights, const target::Target& target, const mlc_image& base);

}  // namespace mlc::package
