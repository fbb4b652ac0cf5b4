#include "base/machine/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/machine/control_groups.h"

namespace mlc::target {
namespace {

// What version 1 says where there is no limit: the largest number of whole pages.
constexpr int64_t kNoLimit = int64_t{1} << 62;

// Version 2: a number of bytes, or "max". 0 for none.
int64_t LimitOf(const std::filesystem::path& group) {
  for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
    int64_t bytes = 0;
    if (std::ifstream file(group / name); file >> bytes && bytes > 0 && bytes < kNoLimit) {
      return bytes;
    }
  }
  return 0;
}

}  // namespace

int64_t MemoryLimit(const std::filesystem::path& root) {
  int64_t least = 0;
  for (const std::filesystem::path& group : ControlGroups(root, "memory")) {
    const int64_t bytes = LimitOf(group);
    if (bytes > 0) least = least > 0 ? std::min(least, bytes) : bytes;
  }
  return least;
}

int64_t UsableMemory() {
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  const int64_t limit = MemoryLimit("/");
  return limit > 0 ? std::min(machine, limit) : machine;
}

}  // namespace mlc::target
