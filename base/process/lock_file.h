// Files that processes of several users lock with flock(). Any user who can write to their folder
// can put other files there, and any user who can read them can hold the locks. Linux only.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::worker {

// A descriptor of a regular file, for flock() alone. With `make` a missing file is created,
// lockable by all users. FAILED_PRECONDITION with the reason: also for a symbolic link, or what
// opening would wait for.
Result<int> OpenLockFile(const std::string& path, bool make);

// The holder of a lock on the file: "process 4711 (mlc-worker) of user 1000".
std::string HolderOf(int file);

}  // namespace mlc::worker
