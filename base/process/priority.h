// CPU time for children that measure, where the machine is busy and privileges allow it.
#pragma once

namespace mlc::worker {

// Gives the calling process this nice value and a session of its own: with autogroups (sched(7)),
// a nice value counts only among the processes of one session, and the sessions share the
// CPUs by nice values that they have as groups. What is not allowed is left as it is.
// Call in a forked child, before the sandbox closes. Not async-signal-safe.
void RaisePriority(int nice);

}  // namespace mlc::worker
