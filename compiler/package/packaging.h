// The packaging of libraries for one kind of device: one row of a table, parallel to the rows of
// compiler/backend. Rows are values and pure functions; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/image_builder.h"
#include "compiler/package/task_kernel.h"
#include "compiler/package/weights.h"
#include "compiler/runtime/image.h"
#include "compiler/target/target.h"

namespace mlc::package {

// A runtime object that is embedded in this program.
struct RuntimeObject {
  std::string name;
  std::string_view bytes;
};

struct Packaging {
  std::string_view code_suffix;  // of the files that kernels are compiled to
  // True if these files are data of the image, which the device runtime loads; false if they are
  // objects of the library.
  bool has_device_code;
  // Completes a lowered kernel: prints its source, or computes its scratch sizes.
  Status (*complete)(TaskKernel& kernel, const target::Target& target);
  // The machine that the library's own code is for: x86_64 or aarch64.
  std::string (*machine)(const target::Target& target);
  // NOT_FOUND if this program has no runtime for that machine.
  Result<std::vector<RuntimeObject>> (*runtime)(const target::Target& target);
  // Completes the tables in `base`, which all kinds have. The first image is for the target.
  // REQUIRES: CompileKernels() has run.
  Result<std::vector<ImageTable>> (*add_tables)(
      ImageBuilder& builder, const graph::Program& program, std::span<const TaskKernel> kernels,
      const WeightsPlan& weights, const target::Target& target, const mlc_image& base);
};

const Packaging& PackagingOf(const target::Target& target);

}  // namespace mlc::package
