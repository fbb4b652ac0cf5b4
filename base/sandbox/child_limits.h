// Computes the limits of a child process from what it has to do; no other file computes limits. If
// a limit counts all threads of a process, it grows with their number. A deadline grows if there
// are more threads than CPUs. Thread-safe.
#pragma once

#include <cstdint>

#include "base/sandbox/sandbox.h"

namespace mlc::build {

struct ChildWork {
  int threads = 1;    // that compute at the same time
  int processes = 1;  // such children that run at the same time
  // Time for the work if every thread has a CPU of its own, without the time for its tensors.
  int64_t ms = 30'000;
  int64_t tensor_bytes = 0;  // of tensors that it makes, reads or writes
  // Address space for its own data, in addition to its threads and to what is mapped when it
  // starts; 0: no limit.
  int64_t memory_bytes = int64_t{4} << 30;
};

struct Machine {
  int cpus = 1;
  int64_t stack_bytes = int64_t{8} << 20;  // that the C library gives a thread
};
// The machine and the limits of the calling process.
Machine ThisMachine();

// RLIMIT_CPU: the kernel sums the time of all threads.
int64_t CpuSeconds(const ChildWork& work);
// RLIMIT_AS beyond what is mapped already. Each thread has a stack and a heap. 0: no limit.
int64_t MemoryBytes(const ChildWork& work, const Machine& machine);
// Deadline in wall-clock time: threads that share a CPU take turns.
int64_t WallMs(const ChildWork& work, const Machine& machine);

// All three limits; the other fields are those of Limits().
Limits LimitsFor(const ChildWork& work, const Machine& machine = ThisMachine());

}  // namespace mlc::build
