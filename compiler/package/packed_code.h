// The code of a library's kernels for GPUs as the runtime unpacks it (runtime/packed_code.h). It is
// an object of its own, which the shared and the static library have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/program.h"
#include "compiler/package/task_kernel.h"

namespace mlc::package {

struct PackedCode {
  std::string symbol;  // of the frame
  int64_t frame_bytes = 0;
  int64_t bytes = 0;            // unpacked
  std::vector<int64_t> places;  // by task: where its code begins, unpacked
};

// Two frames, since a device reads one of them only.
struct DeviceCode {
  PackedCode binaries;              // of OwnKernels(), for the target
  std::optional<PackedCode> texts;  // of KernelsForNewer(); none: one of these has no text
};

// Writes the object of the library `name` to `path`. The same code gives the same bytes.
// REQUIRES: CompileKernels() has run.
Result<DeviceCode> WriteDeviceCode(const graph::Program& program,
                                   std::span<const TaskKernel> kernels, const std::string& name,
                                   const std::string& machine, const std::string& path);

}  // namespace mlc::package
