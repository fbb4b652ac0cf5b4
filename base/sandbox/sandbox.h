// What a child process may do: compute, use memory, and write to the descriptors it holds. It
// cannot open, execute or connect anything, nor start or signal a process. Seccomp enforces this;
// if the kernel has Landlock, Landlock enforces the part about files a second time.
//
// A child that drives a device has a wider sandbox. It may read the files that its user may read,
// and use NVIDIA's devices. It may not write files, execute programs, connect or reach other
// processes. Only Landlock protects files there, so without Landlock such a child has no sandbox.
// Linux only.
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
  // Address space beyond what is mapped already, because a fork has all that its parent has mapped,
  // for example inputs of many GiB. 0 = unlimited.
  int64_t memory_bytes = int64_t{4} << 30;
  int64_t file_bytes = int64_t{64} << 20;  // size up to which it can write files (that it holds)
  int64_t cpu_seconds = 30;                // of all threads together
  int open_files = 64;
  bool sandbox = true;  // false: limits only
  enum class SandboxKind : uint8_t { kCompute, kDevice, kCompiler };
  SandboxKind sandbox_kind = SandboxKind::kCompute;
  std::string scratch = {};  // kCompiler: the folder that the child may write to
};

// OK if this kernel can sandbox such a child; else PERMISSION_DENIED with what is missing and what
// to do.
Status CanSandbox(Limits::SandboxKind kind);

// Closes all descriptors from 3 up except these.
void CloseDescriptorsBut(std::vector<int> keep);

// Puts the calling process into the sandbox, irrevocably; it also ends with its parent. Returns the
// error of CanSandbox if there is no sandbox. REQUIRES: one thread. With SandboxKind::kDevice the
// driver may have others: they lose the same system calls, but Landlock does not restrict them.
// Threads may be started afterwards.
Status EnterSandbox(const Limits& limits);

}  // namespace mlc::build
