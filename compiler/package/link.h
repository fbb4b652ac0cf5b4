// Links objects into a shared library with LLVM's linker, inside a child process, and packs them
// into a static archive. No compiler or linker needs to be installed. Deterministic. Not
// thread-safe (forks).
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::package {

struct LinkJob {
  std::vector<std::string> objects;
  std::vector<std::string> exported;  // symbols visible outside; all others become local
  std::string soname;
  std::string machine;      // x86_64 or aarch64
  std::string output;       // path
  std::string scratch_dir;  // for the linker's own inputs
};

// The library needs libc.so.6 and nothing else. RESOURCE_EXHAUSTED if there is no space for it;
// INTERNAL with the linker's message when it fails.
Status LinkShared(const LinkJob& job);

// A GNU archive with a symbol table, without times and owners. RESOURCE_EXHAUSTED or UNWRITABLE if
// it cannot be written.
Status WriteArchive(const std::vector<std::string>& objects, const std::string& output);

}  // namespace mlc::package
