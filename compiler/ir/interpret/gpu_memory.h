// Global and shared memory of an interpreted GPU kernel: the elements of one buffer, and the last
// writer and reader of each. It detects reads of unwritten elements, races of threads and blocks,
// and reads of data whose copy is not complete. Not thread-safe; borrows the parameter, the clock
// and other memories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/interpret/gpu_clock.h"
#include "compiler/ir/interpret/lane.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

enum class GpuFault : uint8_t {
  kNone,
  kBounds,
  kUninitialised,
  kLost,     // overwritten through an overlay
  kPending,  // a copy that its thread has not waited for
  kThreadRace,
  kBlockRace,
  kEarly,  // before await_inputs
};

class GpuMemory {
 public:
  // `param`: the bytes of a parameter, else empty. `base`: what the buffer overlays, or null.
  GpuMemory(const Buffer& buffer, std::span<std::byte> param, GpuClock* clock, GpuMemory* base);
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  // REQUIRES: scope is kSharedMemory.
  void StartBlock();
  // `count` elements from `index`, `stride` apart, by `thread`; *bad is the element of a fault.
  GpuFault Read(int64_t index, int64_t stride, int count, int thread, Lane* values, int64_t* bad);
  // The same for consecutive elements, by a thread of another block of the cluster.
  GpuFault ReadPeer(int64_t index, int count, int thread, Lane* values, int64_t* bad);
  GpuFault Write(int64_t index, int64_t stride, int count, int thread, const Lane* values,
                 int64_t* bad);
  // A copy into consecutive elements of shared memory: reserved when it is issued, then completed
  // with its values or, at the end of the block, dropped.
  GpuFault Reserve(int64_t index, int count, int thread, int64_t* bad);
  void Land(int64_t index, int count, int thread, const Lane* values);
  void Drop(int64_t index, int count);

  // The buffer is written by copies that arrive at mbarriers from here on; false if it has been
  // touched in this block. Who may touch such tiles when is for GpuAsync to say.
  bool BecomeTiles();
  void PutTile(int64_t index, Lane value) { lanes_[static_cast<size_t>(index)] = value; }
  Lane GetTile(int64_t index) const { return lanes_[static_cast<size_t>(index)]; }

  const Buffer& buffer() const { return *buffer_; }

 private:
  struct Touch {
    uint32_t written = 0;  // moments; 0 for never
    uint32_t read = 0;
    uint32_t read_elsewhere = 0;  // last read by another block, or in another part of this block
    int16_t writer = 0;
    int16_t reader = 0;
  };

  GpuFault CheckRead(int64_t index, int thread);
  GpuFault CheckWrite(int64_t index, int thread);
  void NoteRead(Touch& touch, int thread);
  // Makes this buffer the owner of the memory that it shares with others.
  GpuFault TakeOver();
  Lane Get(size_t at) const;
  void Put(size_t at, Lane value);

  const Buffer* buffer_;
  GpuClock* clock_;
  GpuMemory* base_;  // itself unless it overlays another
  bool shares_ = false;
  bool is_shared_;
  bool may_be_early_;
  size_t element_bytes_;
  std::byte* bytes_ = nullptr;  // of a parameter
  std::vector<Lane> lanes_;     // else
  std::vector<Touch> touches_;  // empty for inputs
  uint32_t valid_since_ = 1;    // earlier writes are invalid
  uint32_t last_access_ = 0;
  uint32_t last_peer_ = 0;  // the last read by another block of the cluster
  int in_flight_ = 0;       // reserved elements
  bool tiles_ = false;
  GpuMemory* owner_ = nullptr;  // of a base: the current owner of the shared memory
};

}  // namespace mlc::ir
