// One set of inputs of a workload with the results that the reference gives for them, in memory
// that processes share: made by a child, read by runner children, and safe from what they run,
// because their mapping cannot be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"

namespace mlc::worker {

// Where the tensors lie: operands in their strides, then reference results, dense row-major.
struct ReferenceLayout {
  std::vector<int64_t> operands;
  std::vector<int64_t> results;
  int64_t bytes = 0;
};
ReferenceLayout ReferenceLayoutOf(const graph::Workload& workload);

// Draws the inputs and evaluates the workload on up to so many threads, 0 for all CPUs.
// Elements between strides are NaN. REQUIRES: memory.size() == ReferenceLayoutOf(workload).bytes.
Status MakeReference(const graph::Workload& workload, uint64_t seed, std::span<std::byte> memory,
                     int threads = 0);

// A shared memory object of its own, unmapped and freed at the end. Its descriptor can be sent to
// other processes.
class SharedMemory {
 public:
  static Result<SharedMemory> Create(int64_t bytes);
  // Maps what another process made, for reading. Takes the descriptor over.
  static Result<SharedMemory> Map(int descriptor);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();
  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  // Different for each object of this process that was created, and from 1.
  uint64_t serial() const { return serial_; }
  // Later children of this process do not have it, until it is protected.
  void KeepFromChildren();
  // From now on this process, its later children and all owners of the descriptor can only read.
  void Protect();

 private:
  SharedMemory(int descriptor, std::span<std::byte> bytes)
      : descriptor_(descriptor), bytes_(bytes) {}
  int descriptor_ = -1;
  uint64_t serial_ = 0;
  std::span<std::byte> bytes_;
};

}  // namespace mlc::worker
