#include "base/machine/cpus.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/machine/affinity.h"
#include "base/machine/control_groups.h"
#include "base/machine/topology.h"

namespace mlc::target {

namespace {

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

double CpuQuota(const std::filesystem::path& root) {
  double least = 0;
  for (const std::filesystem::path& group : ControlGroups(root, "cpu")) {
    TakeLeast(QuotaOf(group), least);
  }
  return least;
}

int UsableCpus() {
  const int allowed = std::max(1, static_cast<int>(AllowedCpus().size()));
  const double quota = CpuQuota("/");
  if (quota <= 0) return allowed;
  return std::clamp(static_cast<int>(std::ceil(quota)), 1, allowed);
}

int DefaultThreads() {
  const int usable = UsableCpus();
  const int cores = CoresOfOneSocket(UsablePlaces());
  return cores > 0 ? std::min(usable, cores) : usable;
}

}  // namespace mlc::target
