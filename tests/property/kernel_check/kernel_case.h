// One workload with random operands and the reference's outputs, and the comparison of what a
// kernel gives with them. Mismatches are reported through GoogleTest. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"
#include "compiler/graph/workload.h"
#include "tests/workloads/random_workload.h"

namespace mlc::schedule {

// Storage of an operand or output, aligned as kernels expect.
class Storage {
 public:
  explicit Storage(int64_t bytes, std::byte fill = std::byte{0})
      : bytes_(static_cast<size_t>(bytes)), data_(bytes_ + 64, fill) {}
  std::byte* data() {
    const auto address = reinterpret_cast<uintptr_t>(data_.data());
    return data_.data() + (64 - address % 64) % 64;
  }
  std::span<std::byte> span() { return {data(), bytes_}; }

 private:
  size_t bytes_;
  std::vector<std::byte> data_;
};

struct Case {
  graph::Workload workload;
  std::vector<Storage> operands;
  std::vector<graph::TensorDataRef> reference;
};

// False, with a failure, if the text is no workload or the reference refuses it.
bool MakeCase(Rng& rng, const RandomWorkload& random, Case& c);
// Storage for every output, filled with what no kernel writes.
std::vector<Storage> Outputs(const Case& c);
void Compare(const Case& c, std::vector<Storage>& outputs, double tolerance, const char* how);

}  // namespace mlc::schedule
