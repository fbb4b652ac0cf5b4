// A reference set: the inputs of a workload and the reference results, in shared memory. A child
// process makes it; runner children map it read-only, so the kernels that they run cannot change
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"

namespace mlc::worker {

// Offsets of the tensors: operands in their strides, then reference results, dense row-major.
struct ReferenceLayout {
  std::vector<int64_t> operands;
  std::vector<int64_t> results;
  int64_t bytes = 0;
};
ReferenceLayout ReferenceLayoutOf(const graph::Workload& workload);

// Draws the inputs and evaluates the workload on up to `threads` threads (0: all CPUs). Padding
// between strides is NaN. REQUIRES: memory.size() == ReferenceLayoutOf(workload).bytes.
Status MakeReference(const graph::Workload& workload, uint64_t seed, std::span<std::byte> memory,
                     int threads = 0);

// Owns a shared memory object, which the destructor unmaps. Its descriptor can be sent to other
// processes. Not thread-safe.
class SharedMemory {
 public:
  static Result<SharedMemory> Create(int64_t bytes);
  // Maps an object that another process created, read-only. Takes ownership of the descriptor.
  static Result<SharedMemory> Map(int descriptor);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();
  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  // A number from 1, unique among the objects that this process created.
  uint64_t serial() const { return serial_; }
  // Removes it from later children of this process, until it is protected.
  void KeepFromChildren();
  // Makes it read-only for this process, its later children and all owners of the descriptor.
  void Protect();

 private:
  SharedMemory(int descriptor, std::span<std::byte> bytes)
      : descriptor_(descriptor), bytes_(bytes) {}
  int descriptor_ = -1;
  uint64_t serial_ = 0;
  std::span<std::byte> bytes_;
};

}  // namespace mlc::worker
