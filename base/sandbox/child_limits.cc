#include "base/sandbox/child_limits.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/machine/cpus.h"

namespace mlc::build {
namespace {

// The slowest of what is done with a tensor: single-threaded, in double precision, copied often.
constexpr int64_t kTensorBytesPerSecond = int64_t{64} << 20;
// What the C library maps for the first allocation of a thread before it returns the half of it.
constexpr int64_t kHeapBytes = int64_t{128} << 20;
// Its choice for a thread where `ulimit -s` says unlimited.
constexpr int64_t kUnlimitedStack = int64_t{2} << 20;
constexpr int64_t kMostStack = int64_t{1} << 40;
constexpr int64_t kGuardBytes = int64_t{64} << 10;

int64_t OwnMs(const ChildWork& work) {
  return work.ms + work.tensor_bytes / kTensorBytesPerSecond * 1000;
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  machine.cpus = target::UsableCpus();
  rlimit stack = {};
  if (getrlimit(RLIMIT_STACK, &stack) != 0) return machine;
  machine.stack_bytes = stack.rlim_cur == RLIM_INFINITY
                            ? kUnlimitedStack
                            : static_cast<int64_t>(std::min<rlim_t>(stack.rlim_cur, kMostStack));
  return machine;
}

int64_t CpuSeconds(const ChildWork& work) {
  const int64_t each = (OwnMs(work) + 999) / 1000;
  return each * std::max(1, work.threads) + 1;
}

int64_t MemoryBytes(const ChildWork& work, const Machine& machine) {
  if (work.memory_bytes == 0) return 0;
  // The first thread has its stack and heap already.
  const int64_t more = std::max(1, work.threads) - 1;
  return work.memory_bytes + more * (machine.stack_bytes + kGuardBytes + kHeapBytes);
}

int64_t WallMs(const ChildWork& work, const Machine& machine) {
  const int64_t computing = int64_t{std::max(1, work.threads)} * std::max(1, work.processes);
  const int64_t cpus = std::max(1, machine.cpus);
  const int64_t turns = (computing + cpus - 1) / cpus;
  return OwnMs(work) * turns;
}

Limits LimitsFor(const ChildWork& work, const Machine& machine) {
  Limits limits;
  limits.cpu_seconds = CpuSeconds(work);
  limits.memory_bytes = MemoryBytes(work, machine);
  return limits;
}

}  // namespace mlc::build
