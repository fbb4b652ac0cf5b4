// Messages on a byte stream: a length, then that many bytes. Pure.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace mlc::worker {

inline constexpr uint32_t kMaxFrame = uint32_t{64} << 20;

inline std::string Frame(std::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
  bytes.append(payload);
  return bytes;
}

// Removes the first whole message from `received` and returns it. A message that is too large
// empties `received` and is not returned.
inline std::optional<std::string> TakeFrame(std::string& received) {
  uint32_t size = 0;
  if (received.size() < sizeof(size)) return std::nullopt;
  std::memcpy(&size, received.data(), sizeof(size));
  if (size > kMaxFrame) received.clear();
  if (received.size() < sizeof(size) + size) return std::nullopt;
  std::string payload = received.substr(sizeof(size), size);
  received.erase(0, sizeof(size) + size);
  return payload;
}

}  // namespace mlc::worker
