#include "compiler/ir/interpret/memory.h"

#include <algorithm>

namespace mlc::ir {

Memory::Memory(const Buffer& buffer, std::span<std::byte> param)
    : buffer_(&buffer), element_bytes_(static_cast<size_t>(SizeOf(buffer.dtype))) {
  const auto size = static_cast<size_t>(buffer.size);
  switch (buffer.scope) {
    case Scope::kIn:
      data_ = param.data();
      return;
    case Scope::kOut:
      data_ = param.data();
      break;
    case Scope::kWorkspace:
    case Scope::kThread:
    case Scope::kCounter:
    case Scope::kSharedMemory:
    case Scope::kMbarrier:
      own_.resize(size * element_bytes_);
      data_ = own_.data();
      break;
    case Scope::kRegister:
      registers_.resize(size * static_cast<size_t>(buffer.lanes));
      break;
  }
  writer_.assign(size, 0);
  if (buffer.scope == Scope::kOut || buffer.scope == Scope::kWorkspace) reader_.assign(size, 0);
}

Fault Memory::Read(int64_t index, uint32_t now, uint32_t base, Lane* value) {
  if (!Inside(index)) return Fault::kBounds;
  const auto at = static_cast<size_t>(index);
  if (buffer_->scope == Scope::kThread) {
    if (writer_[at] != now) return Fault::kUninitialised;
  } else if (buffer_->scope != Scope::kIn) {
    const uint32_t writer = writer_[at];
    if (writer == 0) return Fault::kUninitialised;
    if (writer > base && writer != now) return Fault::kRace;
    uint32_t& reader = reader_[at];
    if (reader != now) reader = reader < base ? now : base;
  }
  *value = ReadLane(buffer_->dtype, data_ + at * element_bytes_);
  return Fault::kNone;
}

Fault Memory::Write(int64_t index, uint32_t now, uint32_t base, Lane value) {
  if (!Inside(index)) return Fault::kBounds;
  const auto at = static_cast<size_t>(index);
  uint32_t& writer = writer_[at];
  if (buffer_->scope != Scope::kThread) {
    if (writer > base && writer != now) return Fault::kRace;
    if (reader_[at] >= base && reader_[at] != now) return Fault::kRace;
  }
  writer = now;
  WriteLane(buffer_->dtype, data_ + at * element_bytes_, value);
  return Fault::kNone;
}

Fault Memory::ReadRegister(int64_t index, uint32_t now, Lane* values) const {
  if (!Inside(index)) return Fault::kBounds;
  const auto at = static_cast<size_t>(index);
  if (writer_[at] != now) return Fault::kUninitialised;
  const auto lanes = static_cast<size_t>(buffer_->lanes);
  std::copy_n(registers_.data() + at * lanes, lanes, values);
  return Fault::kNone;
}

Fault Memory::WriteRegister(int64_t index, uint32_t now, const Lane* values) {
  if (!Inside(index)) return Fault::kBounds;
  const auto at = static_cast<size_t>(index);
  writer_[at] = now;
  const auto lanes = static_cast<size_t>(buffer_->lanes);
  std::copy_n(values, lanes, registers_.data() + at * lanes);
  return Fault::kNone;
}

}  // namespace mlc::ir
