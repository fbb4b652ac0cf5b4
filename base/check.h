// MLC_CHECK(condition) << "text": a bug of ours. It ends the process; risky work runs in child
// processes, so the daemon and the log survive it, or in Contain() (contain.h), which it ends
// alone. Never used for bad input.
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <utility>

namespace mlc::check_internal {

// Thrown by a failure within Contain(), and caught there.
class Contained : public std::exception {
 public:
  explicit Contained(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};
// How many calls of Contain() this thread is in.
int& ContainDepth();

// Collects the message.
class Failure {
 public:
  Failure(const char* file, int line, const char* condition);
  std::ostringstream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Lets the macro be one expression of type void; takes the message of a Failure once it is whole.
struct Fail {
  [[noreturn]] void operator&(std::ostream& message);
};

}  // namespace mlc::check_internal

#define MLC_CHECK(condition)                    \
  (condition) ? (void)0                         \
              : ::mlc::check_internal::Fail() & \
                    ::mlc::check_internal::Failure(__FILE__, __LINE__, #condition).stream()
