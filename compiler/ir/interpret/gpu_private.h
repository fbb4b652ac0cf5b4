// Registers and thread memory of an interpreted GPU kernel: per thread, entries of `lanes` lanes,
// which end with the block. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/interpret/lane.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

class GpuPrivate {
 public:
  GpuPrivate(const Buffer& buffer, int threads)
      : buffer_(&buffer),
        lanes_(static_cast<size_t>(buffer.lanes)),
        threads_(static_cast<size_t>(threads)),
        data_(static_cast<size_t>(buffer.size) * threads_ * lanes_),
        written_(static_cast<size_t>(buffer.size) * threads_) {}

  bool Inside(int64_t index) const {
    return static_cast<uint64_t>(index) < static_cast<uint64_t>(buffer_->size);
  }
  // REQUIRES: Inside(index). The block number distinguishes its writes from those of earlier
  // blocks.
  bool IsWritten(int64_t index, int thread, uint32_t block) const {
    return written_[Entry(index, thread)] == block;
  }
  void MarkWritten(int64_t index, int thread, uint32_t block) {
    written_[Entry(index, thread)] = block;
  }
  Lane* At(int64_t index, int thread) { return data_.data() + Entry(index, thread) * lanes_; }

  const Buffer& buffer() const { return *buffer_; }

 private:
  size_t Entry(int64_t index, int thread) const {
    return static_cast<size_t>(index) * threads_ + static_cast<size_t>(thread);
  }

  const Buffer* buffer_;
  size_t lanes_;
  size_t threads_;
  std::vector<Lane> data_;
  std::vector<uint32_t> written_;
};

}  // namespace mlc::ir
