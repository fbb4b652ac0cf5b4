// One set of inputs of a workload with the results that the reference gives for them, in memory
// that processes share: made by a child, read by runner children, and safe from what they run,
// because their mapping cannot be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/base/status.h"
#include "compiler/graph/workload.h"

namespace mlc::worker {

// Where the tensors lie: operands in their strides, then reference results, dense row-major.
struct ReferenceLayout {
  std::vector<int64_t> operands;
  std::vector<int64_t> results;
  int64_t bytes = 0;
};
ReferenceLayout ReferenceLayoutOf(const graph::Workload& workload);

// Draws the inputs and evaluates the workload. Elements between strides are NaN. REQUIRES:
// memory.size() == ReferenceLayoutOf(workload).bytes.
Status MakeReference(const graph::Workload& workload, uint64_t seed, std::span<std::byte> memory);

// A shared memory object of its own, unmapped and freed at the end.
class SharedMemory {
 public:
  static Result<SharedMemory> Create(int64_t bytes);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();
  std::span<std::byte> bytes() const { return bytes_; }
  // From now on this process and its later children read only.
  void Protect();

 private:
  explicit SharedMemory(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace mlc::worker
