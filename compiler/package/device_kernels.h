// Kernels for GPUs: CUDA C++ from kernel IR, then device code by NVRTC, for the target's own
// architecture and as text for newer ones. A crash of the compiler must stay in a child: these are
// called in one.
#pragma once

#include <string>

#include "compiler/base/status.h"
#include "compiler/build/cubin_cache.h"
#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace mlc::package {

// True if the phase waits by itself for earlier launches, so that it may begin before they end.
bool AwaitsInputs(const ir::Stmt& phase);

struct DeviceCode {
  std::string binary;    // a cubin
  std::string portable;  // PTX; empty when the kernel needs this very architecture
  int found = 0;         // of the two, those from the cache
  int made = 0;          // and those compiled
  Status kept;           // why the cache could not keep one
};

struct DeviceTools {
  build::Nvrtc* nvrtc = nullptr;              // never null with a GPU
  const build::CubinCache* cubins = nullptr;  // null: none
};

// From a source that stands for every architecture.
Result<DeviceCode> CompileSource(const std::string& source, const target::Target& target,
                                 const DeviceTools& tools);
Result<DeviceCode> CompileForDevice(const ir::Kernel& kernel, const target::Target& target,
                                    const DeviceTools& tools);

}  // namespace mlc::package
