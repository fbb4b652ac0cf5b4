// Tells a compiler that ran out of memory from one that rejected its input or crashed. The former
// is a problem of the machine or of a limit, and never of the input. Thread-safe.
#pragma once

#include <string_view>

namespace mlc::build {

// The exit code of a child that ran out of memory.
inline constexpr int kOutOfMemoryCode = 12;

// After this call, an allocation that fails ends this process with that code and a line on standard
// error, instead of an uncaught exception. For children.
void EndWhenOutOfMemory();

// Whether a compiler's log or last words on standard error report exhausted memory: NVRTC's
// "catastrophic error: out of memory", the failed allocation of ptxas, the last words of LLVM and
// of the C++ library. A diagnostic that quotes such words from the source does not count.
bool ReportsOutOfMemory(std::string_view text);

}  // namespace mlc::build
