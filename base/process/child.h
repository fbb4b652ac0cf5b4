// A forked child that computes something and sends messages back over a pipe; its standard error
// goes to memory. The parent reads without blocking, and can stop, continue and kill the child. The
// child inherits the parent's memory, but only the descriptors that the parent names. Its standard
// input is empty. Not thread-safe. REQUIRES: the calling process has one thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sandbox/sandbox.h"
#include "base/status.h"

namespace mlc::worker {

// Writes everything. False if the reader has closed the pipe.
bool WriteAll(int fd, std::string_view bytes);

class Child {
 public:
  // What the child runs. The child ends when it returns, or when an allocation fails.
  using Body = std::function<void(int pipe)>;
  // `before` runs in the child before it enters the sandbox, for what needs privileges. `keep` are
  // descriptors that stay open.
  struct Options {
    build::Limits limits;
    std::function<void()> before;
    std::vector<int> keep;
    // Limit of bytes that were sent and not taken from received(). A child that ran untrusted code
    // may send without end.
    size_t most_bytes = size_t{1} << 20;
    // The child starts processes of its own, which are stopped and killed with it.
    bool has_children = false;
  };
  static Result<Child> Start(const Options& options, const Body& body);

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // kills and reaps

  int pipe() const { return pipe_; }
  // Reads what has arrived. False at the end of the stream, and if the child sent more than it may;
  // then it is killed.
  bool Read();
  bool sent_too_much() const { return sent_too_much_; }
  // Bytes that have arrived and were not taken yet.
  std::string& received() { return received_; }

  void Stop();
  void Continue();
  void Kill();
  // Waits for the end of the child and returns the status of waitpid. If the child has closed its
  // pipe and lives for `timeout` longer, it is killed.
  int Reap(std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // The first KiB that the child wrote to standard error.
  std::string ErrorText() const;
  // Time since the start, stops not counted.
  std::chrono::nanoseconds Running() const;

 private:
  Child(pid_t pid, int pipe, int errors, const Options& options);
  void Signal(int signal) const;

  pid_t pid_ = -1;
  bool has_children_ = false;  // they are its process group
  int pipe_ = -1;
  int errors_ = -1;
  size_t most_bytes_ = 0;
  bool sent_too_much_ = false;
  std::string received_;
  std::chrono::steady_clock::time_point since_;
  std::chrono::nanoseconds ran_{0};
  bool stopped_ = false;
};

// "ended with signal SEGV (Segmentation fault)", "ended with code 3", or "ran out of memory".
std::string DescribeEnd(int wait_status);

// Whether the machine is the cause of a child's end, and not its work: it could not be sandboxed,
// memory ran out, or it was killed, as Linux does when memory runs out. `errors` is its ErrorText()
// if it runs no untrusted code; else empty.
bool IsMachineFailure(int wait_status, const std::string& errors);

}  // namespace mlc::worker
