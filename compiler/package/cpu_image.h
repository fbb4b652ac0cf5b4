// The part of a model's static tables that a library for CPUs has: the phases of each kernel. Pure.
#pragma once

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

// `bases`: what GPUs have too, of each plan; completed here. One image a plan. Their needs of
// memory become the largest of all, since a session runs any of them.
Result<std::vector<ImageTable>> AddCpuTables(ImageBuilder& builder, const graph::Program& program,
                                             std::span<const Plan> plans,
                                             std::span<const TaskKernel> kernels,
                                             const WeightsPlan& weights, const DeviceCode& code,
                                             const target::Target& target,
                                             std::span<const mlc_image> bases);

}  // namespace mlc::package
