// Stable 128-bit digests (XXH3-128) of canonical text and of bytes: keys of the log, of caches and
// of file names. The same bytes give the same digest on every machine and release; tests hold
// vectors. Not a cryptographic hash: integrity, not authenticity. Values; thread-compatible.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc {

struct Digest {
  uint64_t high = 0;
  uint64_t low = 0;

  // 32 lower-case hexadecimal digits.
  std::string ToText() const;
  static Result<Digest> Parse(std::string_view hex);
  // Big-endian, the form stored in the log.
  std::array<uint8_t, 16> ToBytes() const;
  static Digest FromBytes(std::span<const uint8_t, 16> bytes);

  friend auto operator<=>(const Digest&, const Digest&) = default;
};

Digest DigestOf(std::string_view text);
Digest DigestOf(std::span<const std::byte> bytes);

}  // namespace mlc
