// Restores state that a program expects and its parent may have changed: a shell (>&-) or a
// supervisor may have closed descriptors 0 to 2, or ignore SIGCHLD. Not thread-safe: call it before
// other threads start.
#pragma once

namespace mlc::transport {

// Opens descriptors 0 to 2 if they are closed, so that no log or connection gets their numbers and
// receives the program's messages. Reading and writing them still fails. Call it first in main().
void OpenStandardFiles();

// Restores SIGCHLD if it is ignored, which a program inherits. While it is ignored, the system
// forgets how a child ended: waiting fails, a crash looks like success, and another process may get
// the child's number. For programs that start processes; call it before.
void EnableChildWait();

}  // namespace mlc::transport
