#include "base/process/standard_output.h"

#include <cstdio>

#include "base/exit_code.h"

namespace mlc::transport {

Status FlushOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return Status();
  return Unwritable(
      "cannot write to standard output: the reader has closed it, or the disk is full");
}

int EndProgram(const char* program, int code) {
  const Status status = FlushOutput();
  if (code != 0 || status.ok()) return code;
  std::fprintf(stderr, "%s: %s\n", program, status.message().c_str());
  return static_cast<int>(ExitCodeOf(status));
}

}  // namespace mlc::transport
