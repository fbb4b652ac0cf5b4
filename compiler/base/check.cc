#include "compiler/base/check.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace mlc::check_internal {

Failure::Failure(const char* file, int line, const char* condition) {
  stream_ << file << ":" << line << ": check failed: " << condition << " ";
}

Failure::~Failure() {
  const std::string text = stream_.str() + "\n";
  // The only output of a library: the process ends here and the text must not be lost.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

}  // namespace mlc::check_internal
