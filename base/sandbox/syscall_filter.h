// The system calls of sandboxed children. Those that compute have an allow-list: every other call
// gives EPERM. Those that drive a device, whose driver may make any call, have a list of what is
// forbidden (device_syscalls.cc): starting, signalling and tracing processes, connecting to any
// socket, mounts, kernel modules, and what landlock does not see of files.
#pragma once

#include "base/status.h"

namespace mlc::build {

// For the calling process and its later threads; the device's also for its earlier ones. REQUIRES:
// no_new_privs is set.
Status InstallSyscallFilter();
Status InstallDeviceSyscallFilter();

}  // namespace mlc::build
