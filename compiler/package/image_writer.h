// Writes a model's static tables (runtime/image.h) as one object: ports, steps, operands, phases
// and the public table that users link against. Pure but for the file it writes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/packed_code.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/target/target.h"

namespace mlc::package {

struct ImageOptions {
  std::string name;
  bool embed_weights = true;
  uint64_t weights_check = 0;
  // Also defines MLC_MODEL_ENTRY: for shared libraries only, since archives of several models meet
  // in one program.
  bool entry = false;
};

// Symbols: NAME_model (and the entry); uses mlc_NAME_weights when the weights are embedded.
Status WriteImage(const graph::Program& program, const Plans& plans,
                  std::span<const TaskKernel> kernels, const WeightsPlan& weights,
                  const DeviceCode& code, const target::Target& target, const ImageOptions& options,
                  const std::string& path);

// The symbol of the embedded weights.
std::string WeightsSymbol(const std::string& name);

}  // namespace mlc::package
