// The system calls of sandboxed children: an allow-list; every other call gives EPERM.
#pragma once

#include "compiler/base/status.h"

namespace mlc::worker {

// For the calling process and its later threads. REQUIRES: no_new_privs is set.
Status InstallSyscallFilter();

}  // namespace mlc::worker
