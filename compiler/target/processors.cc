#include "compiler/target/processors.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <memory>

#include "compiler/target/control_groups.h"

namespace mlc::target {

namespace {

// 0 where the mask cannot be read.
int AllowedProcessors() {
  constexpr int kMostProcessors = 1 << 16;
  for (int processors = CPU_SETSIZE; processors <= kMostProcessors; processors *= 2) {
    const auto free = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(free)> allowed(
        CPU_ALLOC(static_cast<size_t>(processors)), free);
    if (!allowed) return 0;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processors));
    if (sched_getaffinity(0, bytes, allowed.get()) == 0) return CPU_COUNT_S(bytes, allowed.get());
    if (errno != EINVAL) return 0;  // else the kernel's mask is longer
  }
  return 0;
}

double Quotient(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : 0;
}

// Version 2: "QUOTA PERIOD" in microseconds, or "max PERIOD". Version 1: one file each, -1 for
// none.
double QuotaOf(const std::filesystem::path& group) {
  double quota = 0, period = 0;
  if (std::ifstream both(group / "cpu.max"); both >> quota >> period) {
    return Quotient(quota, period);
  }
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return Quotient(quota, period);
}

void TakeLeast(double quota, double& least) {
  if (quota > 0) least = least > 0 ? std::min(least, quota) : quota;
}

}  // namespace

double ProcessorQuota(const std::filesystem::path& root) {
  double least = 0;
  for (const std::filesystem::path& group : ControlGroups(root, "cpu")) {
    TakeLeast(QuotaOf(group), least);
  }
  return least;
}

int UsableProcessors() {
  const int allowed = std::max(1, AllowedProcessors());
  const double quota = ProcessorQuota("/");
  if (quota <= 0) return allowed;
  return std::clamp(static_cast<int>(std::ceil(quota)), 1, allowed);
}

}  // namespace mlc::target
