// Prints one phase of a kernel as one __global__ function: its head, the declarations of buffers
// and its statements. Thread-safe for different DeviceFunctions.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/codegen/cuda/cuda.h"
#include "compiler/codegen/cuda/device_functions.h"
#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/codegen/cuda/tensor_maps.h"

namespace mlc::codegen {

struct GlobalLayout {
  MemoryLayout scratch;
  MemoryLayout counters;
  TensorMaps maps;
};

// Appends the function to `text` and marks the device functions that it calls. The phase is one of
// the kernel's. INVALID_ARGUMENT for what the target cannot run.
Result<CudaLaunch> PrintPhase(const ir::Kernel& kernel, const target::Target& target,
                              const GlobalLayout& global, const ir::For& phase,
                              const std::string& function, DeviceFunctions& functions,
                              std::string* text);

}  // namespace mlc::codegen
