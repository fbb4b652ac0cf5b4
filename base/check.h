// MLC_CHECK(condition) << "text" states a condition that fails only if the project has a bug. A
// failure ends the process, or inside Contain() (contain.h) only the contained work. Risky work
// runs in child processes, so the daemon and the log survive. Never use it for bad input.
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace mlc::check_internal {

// Thrown by a failed check inside Contain(), which catches it.
class Contained : public std::exception {
 public:
  explicit Contained(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};
// Number of nested Contain() calls that this thread is in.
int& ContainDepth();

// Collects the message.
class Failure {
 public:
  Failure(const char* file, int line, const char* condition);
  std::ostringstream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Makes the macro one expression of type void; takes the finished message of a Failure.
struct Fail {
  [[noreturn]] void operator&(std::ostream& message);
};

}  // namespace mlc::check_internal

#define MLC_CHECK(condition)                    \
  (condition) ? (void)0                         \
              : ::mlc::check_internal::Fail() & \
                    ::mlc::check_internal::Failure(__FILE__, __LINE__, #condition).stream()
