// Buffers of the ports of a compiled model, aligned so that the library uses them in place. Pure;
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace mlc::client {

struct FreeAligned {
  void operator()(void* bytes) const { std::free(bytes); }
};
using AlignedBuffer = std::unique_ptr<std::byte, FreeAligned>;

// At least `bytes` zeros; null if there is no memory. REQUIRES: bytes >= 0.
inline AlignedBuffer AllocateAligned(int64_t bytes) {
  constexpr size_t kAlignment = 64;
  const size_t rounded = (static_cast<size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
  AlignedBuffer buffer(static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)));
  if (buffer != nullptr) std::memset(buffer.get(), 0, rounded);
  return buffer;
}

}  // namespace mlc::client
