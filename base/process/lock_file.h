// Files that processes of several users lock with flock(). Whoever may write to their folder may
// have put something else there, and whoever may read them may hold them. Linux only.
#pragma once

#include <string>

#include "base/status.h"

namespace mlc::worker {

// A descriptor of a regular file, for flock() alone. With `make` one that is not there is made, for
// everybody to lock. FAILED_PRECONDITION with the reason: also for a symbolic link, or what opening
// would wait for.
Result<int> OpenLockFile(const std::string& path, bool make);

// Who holds a lock on the file: "process 4711 (mlc-worker) of user 1000".
std::string HolderOf(int file);

}  // namespace mlc::worker
