#include "base/machine/affinity.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <memory>

namespace mlc::target {

namespace {

struct Free {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using Mask = std::unique_ptr<cpu_set_t, Free>;

}  // namespace

std::vector<int> AllowedCpus() {
  constexpr int kMaxCpus = 1 << 16;
  for (int cpus = CPU_SETSIZE; cpus <= kMaxCpus; cpus *= 2) {
    const Mask allowed(CPU_ALLOC(static_cast<size_t>(cpus)));
    if (!allowed) return {};
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    if (sched_getaffinity(0, bytes, allowed.get()) == 0) {
      std::vector<int> found;
      for (int cpu = 0; cpu < cpus; ++cpu) {
        if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, allowed.get())) found.push_back(cpu);
      }
      return found;
    }
    if (errno != EINVAL) return {};  // else the kernel's mask is longer
  }
  return {};
}

bool KeepTo(std::span<const int> cpus) {
  if (cpus.empty()) return false;
  const auto most = static_cast<size_t>(*std::ranges::max_element(cpus)) + 1;
  const Mask wanted(CPU_ALLOC(most));
  if (!wanted) return false;
  const size_t bytes = CPU_ALLOC_SIZE(most);
  CPU_ZERO_S(bytes, wanted.get());
  for (const int cpu : cpus) {
    CPU_SET_S(static_cast<size_t>(cpu), bytes, wanted.get());
  }
  return sched_setaffinity(0, bytes, wanted.get()) == 0;
}

}  // namespace mlc::target
