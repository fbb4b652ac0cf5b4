#include "worker/check/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mlc::worker {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kGuard = 512;
constexpr int kPoison = 0xff;
constexpr int kCanary = 0xc5;

// Room for a buffer with both zones and any start within a page.
size_t Room(int64_t bytes) {
  return (static_cast<size_t>(bytes) + 2 * kGuard + 2 * kPage) / kPage * kPage;
}

bool Intact(const std::byte* from, const std::byte* to) {
  return std::all_of(from, to, [](std::byte b) { return b == std::byte{kCanary}; });
}

}  // namespace

Arena::~Arena() {
  if (memory_ != nullptr) munmap(memory_, capacity_);
}

Status Arena::Reset(std::span<const int64_t> sizes) {
  buffers_.clear();
  used_ = 0;
  size_t needed = 0;
  for (int64_t bytes : sizes) {
    if (bytes < 0 || bytes > int64_t{1} << 40) return ResourceExhausted("a buffer is too large");
    needed += Room(bytes);
  }
  if (needed <= capacity_) return Status();
  if (memory_ != nullptr) munmap(memory_, capacity_);
  void* memory = mmap(nullptr, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory_ = memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
  capacity_ = memory_ == nullptr ? 0 : needed;
  if (memory_ != nullptr) {
    // As a session of a library asks for, too: a trial is to meet the pages that it will have
    // there.
    (void)madvise(memory_, capacity_, MADV_HUGEPAGE);
    return Status();
  }
  return ResourceExhausted("no memory for buffers of " + std::to_string(needed) + " bytes");
}

std::byte* Arena::Take(int64_t bytes, std::string what) {
  std::byte* page = memory_ + used_;
  // Buffers start in different sets of the first-level cache.
  std::byte* begin = page + kGuard + buffers_.size() * 7 % 32 * 64;
  std::byte* end = begin + bytes;
  std::byte* guard_end = end + kGuard;
  std::memset(begin - kGuard, kCanary, kGuard);
  std::memset(begin, kPoison, static_cast<size_t>(bytes));
  std::memset(end, kCanary, kGuard);
  used_ += Room(bytes);
  buffers_.push_back({begin, end, guard_end, std::move(what)});
  return begin;
}

std::string Arena::GuardError() const {
  for (const Buffer& buffer : buffers_) {
    if (!Intact(buffer.begin - kGuard, buffer.begin)) return "writes before " + buffer.what;
    if (!Intact(buffer.end, buffer.guard_end)) return "writes past the end of " + buffer.what;
  }
  return {};
}

}  // namespace mlc::worker
