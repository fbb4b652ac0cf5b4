// The memory of an interpreted CPU kernel: the bytes or registers of each buffer, and the last
// accessor of each element. It detects reads of unwritten elements and races. Iterations are
// numbered across all phases; the first number of a phase is its `base` + 1. Not thread-safe;
// borrows parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/ir/interpret/lane.h"
#include "compiler/ir/ir.h"

namespace mlc::ir {

enum class Fault : uint8_t { kNone, kBounds, kUninitialised, kRace };

class Memory {
 public:
  // `param`: the bytes of a parameter; empty for scratch, which the object owns.
  Memory(const Buffer& buffer, std::span<std::byte> param);

  // Reads or writes one element in iteration `now` of the phase with this `base`.
  Fault Read(int64_t index, uint32_t now, uint32_t base, Lane* value);
  Fault Write(int64_t index, uint32_t now, uint32_t base, Lane value);
  // A whole register of the buffer's lanes. REQUIRES: scope is kRegister.
  Fault ReadRegister(int64_t index, uint32_t now, Lane* values) const;
  Fault WriteRegister(int64_t index, uint32_t now, const Lane* values);

  const Buffer& buffer() const { return *buffer_; }

 private:
  bool Inside(int64_t index) const {
    return static_cast<uint64_t>(index) < static_cast<uint64_t>(buffer_->size);
  }

  const Buffer* buffer_;
  size_t element_bytes_;
  std::byte* data_ = nullptr;
  std::vector<std::byte> own_;
  std::vector<Lane> registers_;
  // Per element: the iteration of the last write, 0 for none; and the iteration of the last read,
  // or the phase's base if several iterations read it.
  std::vector<uint32_t> writer_;
  std::vector<uint32_t> reader_;
};

}  // namespace mlc::ir
