// A forked child that computes something and sends bytes back: messages over a pipe, its standard
// error into memory. The parent reads without blocking and can stop, continue and kill it. A child
// inherits the parent's memory as it is at the fork and none of its descriptors but those named;
// its standard input is empty. Not thread-safe. REQUIRES: the calling process has one thread.
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

// Writes everything; false when the reader is gone.
bool WriteAll(int fd, std::string_view bytes);

class Child {
 public:
  // The child's side. The process ends when it returns; an allocation that fails ends it, too.
  using Body = std::function<void(int pipe)>;
  // `before` runs in the child before the sandbox closes: what needs privileges. `keep` are
  // descriptors that stay open.
  struct Options {
    build::Limits limits;
    std::function<void()> before;
    std::vector<int> keep;
    // What it may send ahead of what is taken from received(): one that ran foreign code may send
    // for ever.
    size_t most_bytes = size_t{1} << 20;
  };
  static Result<Child> Start(const Options& options, const Body& body);

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // kills and reaps

  int pipe() const { return pipe_; }
  // Reads what is there. False at the end of the stream, and for a child that sent more than it
  // may: it is killed.
  bool Read();
  bool sent_too_much() const { return sent_too_much_; }
  // What was received and not taken yet.
  std::string& received() { return received_; }

  void Stop();
  void Continue();
  void Kill();
  // Waits for the end; the wait status of waitpid. A child that lives on for longer than `timeout`,
  // though its pipe is closed, is killed.
  int Reap(std::chrono::milliseconds timeout = std::chrono::seconds(10));
  // The first KiB of what it wrote to standard error.
  std::string ErrorText() const;
  // Time since the start, stops not counted.
  std::chrono::nanoseconds Running() const;

 private:
  Child(pid_t pid, int pipe, int errors, size_t most_bytes);

  pid_t pid_ = -1;
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

// Whether a child ended for a reason that is the machine's and not that of what it worked on: it
// could not be sandboxed, memory ran out, or it was killed, which Linux does when memory is out.
// `errors`: its ErrorText(), where it runs no code that others wrote; else empty.
bool IsMachineFailure(int wait_status, const std::string& errors);

}  // namespace mlc::worker
