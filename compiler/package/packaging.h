// How a library for one kind of device is made: one row of a table, beside the row of
// compiler/backend. Rows are values and pure functions; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/image_builder.h"
#include "compiler/package/packed_code.h"
#include "compiler/package/plans.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/runtime/image.h"
#include "compiler/target/target.h"

namespace mlc::package {

// An object of the library that this program carries inside itself.
struct RuntimeObject {
  std::string name;
  std::string_view bytes;
};

struct Packaging {
  std::string_view code_suffix;  // of the files that kernels are compiled to
  // Whether these are data of the image, which the runtime for devices loads; else they are objects
  // of the library.
  bool has_device_code;
  // What follows the lowering of a kernel: its source, or the sizes of its scratch.
  Status (*complete)(TaskKernel& kernel, const target::Target& target);
  // The machine that the library's own code is for: x86_64 or aarch64.
  std::string (*machine)(const target::Target& target);
  // NOT_FOUND if this program has no runtime for that machine.
  Result<std::vector<RuntimeObject>> (*runtime)(const target::Target& target);
  // The images of `bases`, what all kinds have of each plan, completed: those of the plans on the
  // target, then further groups of one a plan. REQUIRES: CompileKernels() has run.
  Result<std::vector<ImageTable>> (*add_tables)(
      ImageBuilder& builder, const graph::Program& program, std::span<const Plan> plans,
      std::span<const TaskKernel> kernels, const WeightsPlan& weights, const DeviceCode& code,
      const target::Target& target, std::span<const mlc_image> bases);
};

const Packaging& PackagingOf(const target::Target& target);

}  // namespace mlc::package
