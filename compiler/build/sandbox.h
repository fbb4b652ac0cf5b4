// What a child process may do: compute, use memory, and write to the descriptors it holds. Nothing
// can be opened, executed or connected, no process started or signalled. Seccomp enforces it;
// landlock, where the kernel has it, enforces the part about files once more. A child that drives a
// device has a wider fence: it may read files and use devices, but write no file, execute nothing,
// connect nowhere. Linux only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/status.h"

namespace mlc::build {

struct SandboxSupport {
  bool seccomp = false;
  int landlock_abi = 0;  // 0: the kernel has none
  // "seccomp landlock=7"
  std::string ToText() const;
};
SandboxSupport DetectSandbox();

// child_limits.h computes them.
struct Limits {
  // Of address space, beyond what is mapped already: a fork has all that its parent has, inputs of
  // many GiB among it. 0 = unlimited.
  int64_t memory_bytes = int64_t{4} << 30;
  int64_t file_bytes = int64_t{64} << 20;  // size up to which it can write files (that it holds)
  int64_t cpu_seconds = 30;                // of all threads together
  int open_files = 64;
  bool sandbox = true;  // false: limits only
  enum class Fence : uint8_t { kCompute, kDevice };
  Fence fence = Fence::kCompute;
};

// Closes everything from 3 up but these.
void CloseDescriptorsBut(std::vector<int> keep);

// For the calling process, for good; it dies with its parent. REQUIRES: one thread. Threads may be
// started afterwards.
Status EnterSandbox(const Limits& limits);

}  // namespace mlc::build
