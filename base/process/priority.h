// CPU time for children that measure on a busy machine, if privileges permit it.
#pragma once

namespace mlc::worker {

// Gives the calling process this nice value and a session of its own. With autogroups (sched(7)), a
// nice value counts only among the processes of one session, and sessions share the CPUs by the
// nice values of their groups. Steps that are not permitted are left out. Call it in a forked child
// before it enters the sandbox. Not async-signal-safe.
void RaisePriority(int nice);

}  // namespace mlc::worker
