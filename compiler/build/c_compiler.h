// The C compiler of the machine, for user-supplied kernels in C. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::build {

struct CSource {
  std::string text;
  std::vector<std::string> options;  // behind the usual ones
};

// The path of the machine's cc, gcc or clang. NOT_FOUND, with what to install, if there is none.
Result<std::string> FindCCompiler();

// Compiles to a relocatable object for this machine's processor. `compiler` writes to the folder
// `scratch` only. The caller limits the process and sandboxes it (Limits::SandboxKind::kCompiler),
// because compilers read what a source includes. INVALID_ARGUMENT with the compiler's messages;
// FAILED_PRECONDITION if it does not run. REQUIRES: one thread.
Result<std::string> CompileC(const std::string& compiler, const std::string& scratch,
                             const CSource& source);

}  // namespace mlc::build
