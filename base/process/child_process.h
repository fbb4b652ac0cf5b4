// Risky work, such as compiling and running generated code, in forked children: a crash ends the
// child and becomes a Status here. The children share this process's memory as it is at the call;
// what they produce goes into files. REQUIRES: no other thread runs in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/sandbox/sandbox.h"
#include "base/status.h"

namespace mlc::build {

// Runs job(0) .. job(jobs-1), each in a child of its own, at most `parallel` at a time. All jobs
// are run; returns the error of the lowest job that failed: its own status, RESOURCE_EXHAUSTED if
// it ran out of memory, or INTERNAL naming the signal.
Status RunInChildren(int jobs, int parallel, const std::function<Status(int)>& job);

// The same in a sandbox (sandbox.h), for what others wrote: a job has its files opened first, and
// opens, calls and starts nothing afterwards.
struct SandboxedJobs {
  int count = 0;
  int parallel = 1;
  std::function<std::string(int job)> name;  // in front of its errors
  std::function<Limits(int job)> limits;
  std::function<Result<std::vector<int>>(int job)> open;  // in the child; null: nothing
  std::function<Status(int job, std::span<const int> files)> work;
};
// Besides: INVALID_ARGUMENT for a job that computes for longer than its limit, FAILED_PRECONDITION
// where the kernel has no sandbox.
Status RunSandboxed(const SandboxedJobs& jobs);

// What `make` gives in a sandboxed child.
Result<std::string> TextFromSandbox(const Limits& limits,
                                    const std::function<Result<std::string>()>& make);

// Of a child that compiles one kernel, and handles `data_bytes` of weights besides. Time is two
// minutes: trials, whose time is measured, have ten seconds. Where the machine has no sandbox, only
// `foreign` text, which a user supplied, requires one.
Limits CompilerLimits(bool foreign, int64_t data_bytes = 0);

// By system calls that the sandbox allows. False, with errno, if not all of it could be written.
bool WriteAt(int file, const char* data, int64_t size, int64_t offset);

}  // namespace mlc::build
