// Runs risky work, such as compiling and running generated code, in forked children. A crash ends
// the child and becomes a Status here. Children share this process's memory as it is at the call,
// and write their results to files. REQUIRES: no other thread runs in this process. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/sandbox/sandbox.h"
#include "base/status.h"

namespace mlc::build {

// Runs job(0) .. job(jobs-1), each in a child of its own, at most `parallel` at a time. Runs all
// jobs and returns the error of the lowest job that failed: its own status, RESOURCE_EXHAUSTED if
// it ran out of memory, or INTERNAL with the signal.
Status RunInChildren(int jobs, int parallel, const std::function<Status(int)>& job);

// The same in a sandbox (sandbox.h), for untrusted input. The files of a job are opened before;
// after that it cannot open, connect or start anything.
struct SandboxedJobs {
  int count = 0;
  int parallel = 1;
  std::function<std::string(int job)> name;  // in front of its errors
  std::function<Limits(int job)> limits;
  std::function<Result<std::vector<int>>(int job)> open;  // in the child; null: nothing
  std::function<Status(int job, std::span<const int> files)> work;
};
// Further errors: INVALID_ARGUMENT if a job computes for longer than its limit, FAILED_PRECONDITION
// if the kernel has no sandbox.
Status RunSandboxed(const SandboxedJobs& jobs);

// Returns what `make` returns in a sandboxed child.
Result<std::string> TextFromSandbox(const Limits& limits,
                                    const std::function<Result<std::string>()>& make);

// Limits of a child that compiles one kernel and handles `data_bytes` of weights. It has two
// minutes; builds of trials have ten seconds. If the machine has no sandbox, only `foreign` text,
// which a user supplied, is refused.
Limits CompilerLimits(bool foreign, int64_t data_bytes = 0);

// Writes with system calls that the sandbox permits. False, with errno, if it could not write
// everything.
bool WriteAt(int file, const char* data, int64_t size, int64_t offset);

}  // namespace mlc::build
