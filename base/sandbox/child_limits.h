// What a child process may use, by what it is asked to do: the arithmetic of every limit is here
// and nowhere else. A limit that counts all threads of a process grows with their number, and so
// does a deadline where they are more than the CPUs. Thread-safe.
#pragma once

#include <cstdint>

#include "base/sandbox/sandbox.h"

namespace mlc::build {

struct ChildWork {
  int threads = 1;    // that compute at a time
  int processes = 1;  // children like it, side by side
  // Time for the work where every thread has a CPU of its own, besides what its tensors take.
  int64_t ms = 30'000;
  int64_t tensor_bytes = 0;  // of tensors that it makes, reads or writes
  // Address space for its own data, besides its threads and beyond what is mapped when it starts;
  // 0: no limit.
  int64_t memory_bytes = int64_t{4} << 30;
};

struct Machine {
  int cpus = 1;
  int64_t stack_bytes = int64_t{8} << 20;  // that the C library gives a thread
};
// The machine and the limits of the calling process.
Machine ThisMachine();

// RLIMIT_CPU: the kernel adds up the time of all threads.
int64_t CpuSeconds(const ChildWork& work);
// RLIMIT_AS beyond what is mapped already: each thread has a stack and a heap. 0: no limit.
int64_t MemoryBytes(const ChildWork& work, const Machine& machine);
// Deadline by the clock on the wall: threads that share a CPU take turns.
int64_t WallMs(const ChildWork& work, const Machine& machine);

// All of them; other fields are as in Limits().
Limits LimitsFor(const ChildWork& work, const Machine& machine = ThisMachine());

}  // namespace mlc::build
