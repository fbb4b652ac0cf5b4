// What every program may take for granted, and what its parent process may have changed: a shell
// (>&-) or a supervisor may have closed descriptors 0 to 2, or ignore the end of children.
#pragma once

namespace mlc::transport {

// Opens those that are closed, so that no log or connection gets their numbers and the program's
// messages with them. Reading and writing them fails as before. The first that a main() does.
void OpenStandardFiles();

// The system keeps how a child ended until it is asked. Where SIGCHLD is ignored, which a program
// inherits, it does not: waiting fails, a crash looks like success, and the child's number may
// already be another process's. For a main() whose program starts processes, before it does.
void EnableChildWait();

}  // namespace mlc::transport
