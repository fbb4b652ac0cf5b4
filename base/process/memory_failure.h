// Compilers that run out of memory. That is the machine's trouble or a limit's, never the fault of
// what they compile: here is how it is told from a refusal or a crash. Thread-safe.
#pragma once

#include <string_view>

namespace mlc::build {

// How a child ends that could not get memory.
inline constexpr int kOutOfMemoryCode = 12;

// From now on an allocation of this process that fails ends it with that code and a line on
// standard error, instead of an uncaught exception. For children.
void EndWhenOutOfMemory();

// Whether a compiler's log or its last words on standard error say so: NVRTC's "catastrophic error:
// out of memory", ptxas' failed allocation, LLVM's and the C++ library's last words. A diagnostic
// that quotes such words from the source does not count.
bool ReportsOutOfMemory(std::string_view text);

}  // namespace mlc::build
