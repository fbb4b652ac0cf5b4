#include "base/check.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

namespace mlc::check_internal {

Failure::Failure(const char* file, int line, const char* condition) {
  stream_ << file << ":" << line << ": check failed: " << condition << " ";
}

int& ContainDepth() {
  static thread_local int depth = 0;
  return depth;
}

void Fail::operator&(std::ostream& message) {
  // It is a Failure's.
  std::string text = static_cast<std::ostringstream&>(message).str();
  if (ContainDepth() > 0 && std::uncaught_exceptions() == 0) throw Contained(std::move(text));
  text += '\n';
  // The only output of a library: the process ends here and the text must not be lost.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

}  // namespace mlc::check_internal
