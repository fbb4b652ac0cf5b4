// Files that processes of several users lock with flock(). Any user who can write to the folder can
// put other files there, and any user who can read a file can hold its lock. Linux only.
// Thread-safe.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::worker {

// Opens a regular file for flock() only. With `make`, creates a missing file that all users can
// lock. FAILED_PRECONDITION with the reason, also for a symbolic link or a file whose opening would
// block.
Result<int> OpenLockFile(const std::string& path, bool make);

// The holder of a lock on the file: "process 4711 (mlc-worker) of user 1000".
std::string HolderOf(int file);

}  // namespace mlc::worker
