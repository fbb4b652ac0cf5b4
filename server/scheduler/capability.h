// What a trial needs of a worker, and what a worker offers. Plain values; the functions are pure.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>

namespace mlc::server {

struct Needs {
  std::string target_class;
  std::string kernel = {};     // family that builds it, "contraction/3"; empty: any
  int64_t memory_bytes = 0;    // size of its tensors
  bool reported_only = false;  // only for workers that report `kernel`

  friend auto operator<=>(const Needs&, const Needs&) = default;
};

// For people: "class: CLASS that builds KERNEL with N MiB for tensors".
inline std::string ToText(const Needs& needs) {
  std::string text = "class: " + needs.target_class;
  if (!needs.kernel.empty()) text += " that builds " + needs.kernel;
  if (needs.reported_only) text += " (mlc-worker --allow-user-kernels)";
  if (needs.memory_bytes > 0) {
    text += " with " + std::to_string(needs.memory_bytes >> 20) + " MiB for tensors";
  }
  return text;
}

struct Offer {
  std::string target_class;
  std::set<std::string> kernels = {};  // empty: not reported, taken as all
  int64_t memory_bytes = 0;            // 0: not reported, taken as enough
  int devices = 1;                     // of the class, which run trials in parallel

  bool Meets(const Needs& needs) const {
    if (needs.target_class != target_class) return false;
    if (memory_bytes > 0 && needs.memory_bytes > memory_bytes) return false;
    if (needs.reported_only) return kernels.contains(needs.kernel);
    return kernels.empty() || needs.kernel.empty() || kernels.contains(needs.kernel);
  }
};

}  // namespace mlc::server
