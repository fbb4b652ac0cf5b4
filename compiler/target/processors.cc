#include "compiler/target/processors.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>

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

// The path of this process in the tree of version 2: the line "0::/path".
std::string GroupOf(const std::filesystem::path& root) {
  constexpr std::string_view kUnified = "0::/";
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kUnified)) return line.substr(kUnified.size());
  }
  return "";
}

// "QUOTA PERIOD" in microseconds, or "max PERIOD".
double QuotaOf(const std::filesystem::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && period > 0 ? quota / period : 0;
}

}  // namespace

double ProcessorQuota(const std::filesystem::path& root) {
  const std::filesystem::path top = root / "sys/fs/cgroup";
  double least = QuotaOf(top);
  std::filesystem::path group = top;
  for (const auto& part : std::filesystem::path(GroupOf(root))) {
    group /= part;
    const double quota = QuotaOf(group);
    if (quota > 0) least = least > 0 ? std::min(least, quota) : quota;
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
