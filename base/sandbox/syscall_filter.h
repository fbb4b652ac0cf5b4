// The system calls of sandboxed children. Children that compute have an allow-list: every other
// call gives EPERM. Children that drive a device have a deny-list (device_syscalls.cc), because a
// driver may make any other call. It has starting, signalling and tracing processes, connecting
// sockets, mounts, kernel modules, and file operations that Landlock does not cover.
#pragma once

#include "base/status.h"

namespace mlc::build {

// Applies to the calling process and its later threads; the filter for devices also to its earlier
// threads. REQUIRES: no_new_privs is set.
Status InstallSyscallFilter();
Status InstallDeviceSyscallFilter();
// For children that run a C compiler: a deny-list, too; Landlock limits their files.
Status InstallCompilerSyscallFilter();

}  // namespace mlc::build
