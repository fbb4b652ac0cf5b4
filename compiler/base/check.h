// MLC_CHECK(condition) << "text": a bug of ours. It ends the process; risky work runs in child
// processes, so the daemon and the log survive it. Never used for bad input.
#pragma once

#include <sstream>

namespace mlc::check_internal {

// Collects the message and aborts in its destructor.
class Failure {
 public:
  Failure(const char* file, int line, const char* condition);
  [[noreturn]] ~Failure();
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Lets the macro be one expression of type void.
struct Voidify {
  void operator&(std::ostream&) {}
};

}  // namespace mlc::check_internal

#define MLC_CHECK(condition)                       \
  (condition) ? (void)0                            \
              : ::mlc::check_internal::Voidify() & \
                    ::mlc::check_internal::Failure(__FILE__, __LINE__, #condition).stream()
