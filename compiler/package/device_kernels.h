// Kernels for GPUs: CUDA C++ from kernel IR, then device code by NVRTC, for the target's own
// architecture and as text for newer ones. The compiler reads what others may have written, so it
// runs in sandboxed children; the cache of what it made is read and written outside of them.
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

// True if the phase waits by itself for earlier launches, so that it may begin before they end.
bool AwaitsInputs(const ir::Stmt& phase);

Result<std::string> ReadFile(const std::string& path);

// One compilation.
struct DeviceSource {
  std::string text;
  std::string arch;   // as build::Nvrtc::Compile takes it
  std::string path;   // of the result
  std::string entry;  // the function that it has to have; empty: ours, it has them
};

class DeviceBuilds {
 public:
  // NOT_FOUND when there is no NVRTC. A cache that cannot be used is no error.
  static Result<DeviceBuilds> Open(const LibraryOptions& options);

  // What is to be compiled for the kernel. The files of what the cache has are written.
  Result<std::vector<DeviceSource>> Missing(const TaskKernel& kernel, const target::Target& target);
  // In a child: compiles into the files, which are those of `missing`, in its order.
  Status Compile(const std::vector<DeviceSource>& missing, std::span<const int> files) const;
  // Makes what a child left in the files the kernel's code, and keeps it in the cache.
  Status Take(const std::vector<DeviceSource>& missing);
  // Of all of them, once they are taken.
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
