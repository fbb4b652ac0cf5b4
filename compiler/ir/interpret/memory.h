// The memory of an interpreted kernel: bytes or registers of each buffer, and who touched each
// element last, which finds reads of nothing and races. Iterations have increasing numbers over all
// phases; a phase's first number is one past its `base`. Not thread-safe; borrows parameters.
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

  // One element as iteration `now` of the phase after `base` reads or writes it.
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
  // Per element: the iteration that wrote it last, 0 for none; and the one that read it last, or
  // the phase's base once several did.
  std::vector<uint32_t> writer_;
  std::vector<uint32_t> reader_;
};

}  // namespace mlc::ir
