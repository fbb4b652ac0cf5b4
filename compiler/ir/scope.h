// Where the buffers of the kernel IR (ir.h) live. Values.
#pragma once

#include <cstdint>

namespace mlc::ir {

// kWorkspace (text form: shared) is scratch in global memory for all threads. kCounter: i32 in
// global memory, zero before the first launch and after every launch; only kArrive touches it.
// kSharedMemory (text form: block): shared memory of one block of threads, not initialised.
// kMbarrier: i64 in shared memory, 8 bytes each, which only the statements of async.h touch.
enum class Scope : uint8_t {
  kIn,
  kOut,
  kWorkspace,
  kThread,
  kRegister,
  kCounter,
  kSharedMemory,
  kMbarrier
};

}  // namespace mlc::ir
