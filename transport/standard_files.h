// Descriptors 0 to 2 are what every program may take for granted, and what a shell (>&-) or a
// supervisor may have closed.
#pragma once

namespace mlc::transport {

// Opens those that are closed, so that no log or connection gets their numbers and the program's
// messages with them. Reading and writing them fails as before. The first that a main() does.
void OpenStandardFiles();

}  // namespace mlc::transport
