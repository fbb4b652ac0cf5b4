// The system calls of sandboxed children. Those that compute have an allow-list: every other call
// gives EPERM. Those that drive a device, whose driver may make any call, have a list of what is
// forbidden: starting and tracing processes, sockets of any network, mounts, kernel modules.
#pragma once

#include "compiler/base/status.h"

namespace mlc::build {

// For the calling process and its later threads. REQUIRES: no_new_privs is set.
Status InstallSyscallFilter();
Status InstallDeviceSyscallFilter();

}  // namespace mlc::build
