// The static tables of a library for CPUs: the phases of each kernel. Pure.
#pragma once

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

// `base`: the tables that all kinds of devices have; this function completes them. Returns one
// image.
Result<std::vector<ImageTable>> AddCpuTables(ImageBuilder& builder, const graph::Program& program,
                                             std::span<const TaskKernel> kernels,
                                             const WeightsPlan& weights,
                                             const target::Target& target, const mlc_image& base);

}  // namespace mlc::package
