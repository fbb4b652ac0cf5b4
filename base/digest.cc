#include "base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mlc {

namespace {

Digest FromXxh(const void* data, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return Digest{.high = hash.high64, .low = hash.low64};
}

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string Digest::ToText() const {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[15 - i] = kHex[(high >> (4 * i)) & 15];
    text[31 - i] = kHex[(low >> (4 * i)) & 15];
  }
  return text;
}

Result<Digest> Digest::Parse(std::string_view hex) {
  if (hex.size() != 32) return InvalidArgument("a digest has 32 hexadecimal digits");
  Digest digest;
  for (size_t i = 0; i < 32; ++i) {
    const int value = HexValue(hex[i]);
    if (value < 0) return InvalidArgument("a digest has 32 lower-case hexadecimal digits");
    uint64_t& half = i < 16 ? digest.high : digest.low;
    half = half << 4 | static_cast<uint64_t>(value);
  }
  return digest;
}

std::array<uint8_t, 16> Digest::ToBytes() const {
  std::array<uint8_t, 16> bytes;
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<uint8_t>(high >> (56 - 8 * i));
    bytes[8 + i] = static_cast<uint8_t>(low >> (56 - 8 * i));
  }
  return bytes;
}

Digest Digest::FromBytes(std::span<const uint8_t, 16> bytes) {
  Digest digest;
  for (int i = 0; i < 8; ++i) {
    digest.high = digest.high << 8 | bytes[i];
    digest.low = digest.low << 8 | bytes[8 + i];
  }
  return digest;
}

Digest DigestOf(std::string_view text) { return FromXxh(text.data(), text.size()); }
Digest DigestOf(std::span<const std::byte> bytes) { return FromXxh(bytes.data(), bytes.size()); }

}  // namespace mlc
