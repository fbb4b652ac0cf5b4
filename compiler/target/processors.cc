#include "compiler/target/processors.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

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

// A tree of control groups, and the group of this process in it.
struct Membership {
  std::filesystem::path top;
  std::string group;
};

bool HasController(const std::string& controllers, const std::string& wanted) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == wanted) return true;
  }
  return false;
}

// Lines "NUMBER:CONTROLLERS:/GROUP"; the tree of version 2 has number 0 and no controllers, one of
// version 1 is mounted by their names.
std::vector<Membership> MembershipsOf(const std::filesystem::path& root) {
  const std::filesystem::path mounts = root / "sys/fs/cgroup";
  // A container may see its own group as the root of a tree.
  std::vector<Membership> memberships = {{mounts, ""}};
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 2);
    if (controllers.empty()) memberships.push_back({mounts, group});
    if (HasController(controllers, "cpu")) memberships.push_back({mounts / controllers, group});
  }
  return memberships;
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
  for (const Membership& membership : MembershipsOf(root)) {
    std::filesystem::path group = membership.top;
    TakeLeast(QuotaOf(group), least);
    for (const auto& part : std::filesystem::path(membership.group)) {
      group /= part;
      TakeLeast(QuotaOf(group), least);
    }
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
