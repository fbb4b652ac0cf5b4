// Builds kernels for GPUs: CUDA C++ from kernel IR, then device code by NVRTC, for the target's
// architecture and as portable text for newer ones. The input may come from other users, so the
// compiler runs in sandboxed children; only the parent reads and writes the cache of device code.
// Not thread-safe (forks).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/build/cubin_cache.h"
#include "compiler/ir/ir.h"
#include "compiler/package/kernels.h"
#include "compiler/target/target.h"

namespace mlc::package {

// True if the phase itself waits for earlier launches, so that it may start before they end.
bool AwaitsInputs(const ir::Stmt& phase);

Result<std::string> ReadFile(const std::string& path);

// One compilation.
struct DeviceSource {
  std::string text;
  std::string arch;   // as build::Nvrtc::Compile takes it
  std::string path;   // of the result
  std::string entry;  // function that it must define; empty: the source is generated
};

class DeviceBuilds {
 public:
  // NOT_FOUND without NVRTC. An unusable cache is not an error.
  static Result<DeviceBuilds> Open(const LibraryOptions& options);

  // The compilations that the kernel needs and the cache does not have. Writes the files of those
  // that the cache has.
  Result<std::vector<DeviceSource>> Missing(const TaskKernel& kernel, const target::Target& target);
  // Child side: compiles into `files`, which are those of `missing`, in the same order.
  Status Compile(const std::vector<DeviceSource>& missing, std::span<const int> files) const;
  // Reads the files that a child wrote as the kernel's code, and stores them in the cache.
  Status Take(const std::vector<DeviceSource>& missing);
  // The statistics of all kernels. Call it after the last Take.
  CompiledKernels Finish();

 private:
  // Writes what was found or made; else an error that names the function.
  static Status Write(const DeviceSource& source, const build::CudaBinary& binary);

  std::unique_ptr<build::Nvrtc> nvrtc_;
  std::optional<build::CubinCache> cache_;
  bool warm_ = false;  // nvrtc_ works in a sandboxed child
  CompiledKernels counts_;
};

}  // namespace mlc::package
