// Kernel IR to CUDA C++: one self-contained translation unit without any #include, one __global__
// function per phase, named NAME_p0, NAME_p1, ... with C linkage. The caller launches them in order
// on one stream. Every function takes the kernel's parameters in order, then the base of the shared
// scratch, then the base of the counters, all as pointers; parameters and counters are aligned to
// 16 bytes (a view that is not must be copied first), scratch to 128. A function that copies
// tensors takes all tensor maps of the kernel behind them, by value; the others ignore them.
// Vectors become the widest accesses that the index proves aligned. Deterministic. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/ir/ir.h"
#include "compiler/runtime/tensor_map.h"
#include "compiler/target/launch.h"
#include "compiler/target/target.h"

namespace mlc::codegen {

struct CudaLaunch {
  std::string function;
  target::Dim3 grid = 1;    // in blocks
  target::Dim3 block = 32;  // in threads
  int64_t block_bytes = 0;  // dynamic shared memory of one block
};

struct CudaSource {
  std::string text;
  std::vector<CudaLaunch> launches;
  int64_t workspace_bytes = 0;  // not initialised
  int64_t counter_bytes = 0;    // zero before the first launch
  std::vector<mlc_tensor_map> tensor_maps;
};

// INVALID_ARGUMENT for a kernel without threads loops, or one that the target cannot run (too much
// shared memory, an instruction that the device lacks).
Result<CudaSource> PrintCuda(const ir::Kernel& kernel, const target::Target& target);

}  // namespace mlc::codegen
