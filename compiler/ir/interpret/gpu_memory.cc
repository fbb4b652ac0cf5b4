#include "compiler/ir/interpret/gpu_memory.h"

#include <algorithm>
#include <limits>

namespace mlc::ir {

namespace {

constexpr uint32_t kInFlight = std::numeric_limits<uint32_t>::max();

// Wraps like all index arithmetic; the bounds check sees the result.
int64_t AddressOf(int64_t index, int lane, int64_t stride) {
  return static_cast<int64_t>(static_cast<uint64_t>(index) +
                              static_cast<uint64_t>(lane) * static_cast<uint64_t>(stride));
}

GpuFault FaultOf(Order order) {
  if (order == Order::kOrdered) return GpuFault::kNone;
  return order == Order::kThreadRace ? GpuFault::kThreadRace : GpuFault::kBlockRace;
}

}  // namespace

GpuMemory::GpuMemory(const Buffer& buffer, std::span<std::byte> param, GpuClock* clock,
                     GpuMemory* base)
    : buffer_(&buffer),
      clock_(clock),
      base_(base != nullptr ? base : this),
      shares_(base != nullptr),
      is_shared_(buffer.scope == Scope::kSharedMemory),
      may_be_early_(buffer.scope == Scope::kOut || buffer.scope == Scope::kWorkspace),
      element_bytes_(static_cast<size_t>(SizeOf(buffer.dtype))) {
  base_->shares_ |= shares_;
  const auto size = static_cast<size_t>(buffer.size);
  if (buffer.scope == Scope::kIn || buffer.scope == Scope::kOut) {
    bytes_ = param.data();
  } else {
    lanes_.resize(size);
  }
  if (buffer.scope != Scope::kIn) touches_.resize(size);
}

void GpuMemory::StartBlock() {
  valid_since_ = clock_->block();
  last_access_ = 0;
  last_peer_ = 0;
  in_flight_ = 0;
  tiles_ = false;
  owner_ = nullptr;
}

bool GpuMemory::BecomeTiles() {
  if (last_access_ != 0 || shares_) return false;
  tiles_ = true;
  return true;
}

Lane GpuMemory::Get(size_t at) const {
  return bytes_ != nullptr ? ReadLane(buffer_->dtype, bytes_ + at * element_bytes_) : lanes_[at];
}

void GpuMemory::Put(size_t at, Lane value) {
  if (bytes_ != nullptr) {
    WriteLane(buffer_->dtype, bytes_ + at * element_bytes_, value);
  } else {
    lanes_[at] = value;
  }
}

GpuFault GpuMemory::Read(int64_t index, int64_t stride, int count, int thread, Lane* values,
                         int64_t* bad) {
  for (int lane = 0; lane < count; ++lane) {
    const int64_t at = AddressOf(index, lane, stride);
    const GpuFault fault = CheckRead(at, thread);
    if (fault != GpuFault::kNone) {
      *bad = at;
      return fault;
    }
    values[lane] = Get(static_cast<size_t>(at));
  }
  return GpuFault::kNone;
}

GpuFault GpuMemory::ReadPeer(int64_t index, int count, int thread, Lane* values, int64_t* bad) {
  last_peer_ = clock_->now();
  return Read(index, 1, count, thread, values, bad);
}

GpuFault GpuMemory::Write(int64_t index, int64_t stride, int count, int thread, const Lane* values,
                          int64_t* bad) {
  for (int lane = 0; lane < count; ++lane) {
    const int64_t at = AddressOf(index, lane, stride);
    const GpuFault fault = CheckWrite(at, thread);
    if (fault != GpuFault::kNone) {
      *bad = at;
      return fault;
    }
    Touch& touch = touches_[static_cast<size_t>(at)];
    touch = {};
    touch.written = clock_->now();
    touch.writer = static_cast<int16_t>(thread);
    Put(static_cast<size_t>(at), values[lane]);
  }
  return GpuFault::kNone;
}

GpuFault GpuMemory::CheckRead(int64_t index, int thread) {
  if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(buffer_->size)) {
    return GpuFault::kBounds;
  }
  if (touches_.empty()) return GpuFault::kNone;
  if (tiles_) return GpuFault::kPending;
  if (may_be_early_ && clock_->Early(thread)) return GpuFault::kEarly;
  Touch& touch = touches_[static_cast<size_t>(index)];
  if (touch.written == kInFlight) return GpuFault::kPending;
  const bool lost = shares_ && base_->owner_ != this;
  if (touch.written < valid_since_ || lost) {
    const bool was_written = is_shared_ && touch.written >= clock_->block();
    return was_written ? GpuFault::kLost : GpuFault::kUninitialised;
  }
  const Order order = clock_->OrderOf(touch.writer, touch.written, thread);
  if (order != Order::kOrdered) return FaultOf(order);
  NoteRead(touch, thread);
  return GpuFault::kNone;
}

void GpuMemory::NoteRead(Touch& touch, int thread) {
  last_access_ = clock_->now();
  if (touch.read < clock_->barrier() || clock_->Elsewhere(touch.read)) {
    // A read of another block stays known, the more dangerous one if there are several.
    const uint32_t since = std::max(clock_->launch(), valid_since_);
    if (touch.read >= since && clock_->Elsewhere(touch.read)) {
      const bool keep =
          touch.read_elsewhere >= clock_->launch() && !clock_->Acquired(touch.read_elsewhere);
      if (!keep) touch.read_elsewhere = touch.read;
    }
    touch.reader = static_cast<int16_t>(thread);
  } else if (touch.reader != thread) {
    const int warp = thread / kWarpThreads;
    const auto code = static_cast<int16_t>(kOneWarp - warp);
    const bool same_warp =
        touch.reader >= 0 ? touch.reader / kWarpThreads == warp : touch.reader == code;
    if (!same_warp) {
      touch.reader = kManyWarps;
    } else if (touch.read < clock_->warp_barrier(warp)) {
      touch.reader = static_cast<int16_t>(thread);
    } else {
      touch.reader = code;
    }
  }
  touch.read = clock_->now();
}

GpuFault GpuMemory::CheckWrite(int64_t index, int thread) {
  if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(buffer_->size)) {
    return GpuFault::kBounds;
  }
  if (tiles_) return GpuFault::kPending;
  if (may_be_early_ && clock_->Early(thread)) return GpuFault::kEarly;
  if (shares_) {
    const GpuFault fault = TakeOver();
    if (fault != GpuFault::kNone) return fault;
  }
  const Touch& touch = touches_[static_cast<size_t>(index)];
  if (touch.written == kInFlight) return GpuFault::kPending;
  Order order = Order::kOrdered;
  if (touch.written >= valid_since_) order = clock_->OrderOf(touch.writer, touch.written, thread);
  if (order == Order::kOrdered && touch.read >= valid_since_) {
    order = clock_->OrderOf(touch.reader, touch.read, thread);
  }
  if (order == Order::kOrdered &&
      touch.read_elsewhere >= std::max(clock_->launch(), valid_since_) &&
      !clock_->Acquired(touch.read_elsewhere)) {
    order = Order::kBlockRace;
  }
  last_access_ = clock_->now();
  return FaultOf(order);
}

GpuFault GpuMemory::TakeOver() {
  GpuMemory* owner = base_->owner_;
  if (owner == this) return GpuFault::kNone;
  if (owner != nullptr) {
    if (owner->in_flight_ > 0) return GpuFault::kPending;
    if (owner->last_access_ >= clock_->barrier()) return GpuFault::kThreadRace;
    const bool peer = owner->last_peer_ > 0 && owner->last_peer_ < clock_->part();
    if (peer && !clock_->Acquired(owner->last_peer_)) return GpuFault::kBlockRace;
  }
  clock_->Advance();
  base_->owner_ = this;
  valid_since_ = clock_->now();
  return GpuFault::kNone;
}

GpuFault GpuMemory::Reserve(int64_t index, int count, int thread, int64_t* bad) {
  for (int lane = 0; lane < count; ++lane) {
    const int64_t at = AddressOf(index, lane, 1);
    const GpuFault fault = CheckWrite(at, thread);
    if (fault != GpuFault::kNone) {
      *bad = at;
      return fault;
    }
    Touch& touch = touches_[static_cast<size_t>(at)];
    touch = {};
    touch.written = kInFlight;
    touch.writer = static_cast<int16_t>(thread);
    ++in_flight_;
  }
  return GpuFault::kNone;
}

void GpuMemory::Land(int64_t index, int count, int thread, const Lane* values) {
  for (int lane = 0; lane < count; ++lane) {
    const size_t at = static_cast<size_t>(index) + static_cast<size_t>(lane);
    touches_[at].written = clock_->now();
    touches_[at].writer = static_cast<int16_t>(thread);
    Put(at, values[lane]);
  }
  in_flight_ -= count;
  last_access_ = clock_->now();
}

void GpuMemory::Drop(int64_t index, int count) {
  for (int lane = 0; lane < count; ++lane) {
    touches_[static_cast<size_t>(index) + static_cast<size_t>(lane)] = {};
  }
  in_flight_ -= count;
}

}  // namespace mlc::ir
