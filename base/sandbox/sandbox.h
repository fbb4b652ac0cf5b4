// What a child process may do: compute, use memory, and write to the descriptors it holds. Nothing
// can be opened, executed or connected, no process started or signalled. Seccomp enforces it;
// landlock, where the kernel has it, enforces the part about files once more. A child that drives a
// device has a wider sandbox: it may read the files that its user may read, and use NVIDIA's
// devices, but write no file, execute nothing, connect nowhere, reach no other process. There
// landlock alone keeps files closed: without it there is no sandbox for such a child. Linux only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

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
  enum class SandboxKind : uint8_t { kCompute, kDevice };
  SandboxKind sandbox_kind = SandboxKind::kCompute;
};

// OK if this kernel can sandbox such a child; else PERMISSION_DENIED: what it lacks, what to do.
Status CanSandbox(Limits::SandboxKind kind);

// Closes everything from 3 up but these.
void CloseDescriptorsBut(std::vector<int> keep);

// For the calling process, for good; it dies with its parent. The error of CanSandbox where that is
// not to be had. REQUIRES: one thread; with SandboxKind::kDevice, others are the driver's own: they
// lose the same system calls, but keep what landlock takes from the caller. Threads may be started
// afterwards.
Status EnterSandbox(const Limits& limits);

}  // namespace mlc::build
