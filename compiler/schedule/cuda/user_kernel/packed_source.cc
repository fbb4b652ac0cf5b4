#include "compiler/schedule/cuda/user_kernel/packed_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace mlc::schedule {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string ToLetters(std::string_view bytes) {
  std::string letters;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(c);
    for (count += 8; count >= 6; count -= 6) letters += kLetters[bits >> (count - 6) & 63];
  }
  if (count > 0) letters += kLetters[bits << (6 - count) & 63];
  return letters;
}

// What each letter stands for; 64 for what is none.
constexpr std::array<uint8_t, 256> kValues = [] {
  std::array<uint8_t, 256> values{};
  values.fill(64);
  for (size_t i = 0; i < kLetters.size(); ++i) {
    values[static_cast<uint8_t>(kLetters[i])] = static_cast<uint8_t>(i);
  }
  return values;
}();

// False for letters that stand for no bytes.
bool FromLetters(std::string_view letters, std::string* bytes) {
  uint32_t bits = 0;
  int count = 0;
  for (const char c : letters) {
    const uint32_t value = kValues[static_cast<uint8_t>(c)];
    if (value == 64) return false;
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    *bytes += static_cast<char>(bits >> count & 255);
  }
  return count < 6 && (bits & ((1U << count) - 1)) == 0;
}

// Bytes of the character that begins with `first`, or 0.
size_t LengthOf(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The least second byte and the one after the greatest: no character is written longer than it has
// to be, none is half of a pair, none lies beyond the last one.
std::array<uint8_t, 2> SecondOf(uint8_t first) {
  switch (first) {
    case 0xe0:
      return {0xa0, 0xc0};
    case 0xed:
      return {0x80, 0xa0};
    case 0xf0:
      return {0x90, 0xc0};
    case 0xf4:
      return {0x80, 0x90};
    default:
      return {0x80, 0xc0};
  }
}

// The place of the first byte that is no UTF-8, or npos.
size_t FirstBadByte(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  for (size_t i = 0; i < text.size();) {
    const size_t length = LengthOf(byte(i));
    if (length == 0 || length > text.size() - i) return i;
    for (size_t k = 1; k < length; ++k) {
      const auto [least, end] = k == 1 ? SecondOf(byte(i)) : std::array<uint8_t, 2>{0x80, 0xc0};
      if (byte(i + k) < least || byte(i + k) >= end) return i;
    }
    i += length;
  }
  return std::string_view::npos;
}

Status Check(std::string_view source) {
  if (source.empty()) return InvalidArgument("the source is empty");
  if (source.size() > kMaxSource) {
    return InvalidArgument("the source has " + std::to_string(source.size()) +
                           " bytes: at most 1 MiB is accepted");
  }
  const size_t zero = source.find('\0');
  const size_t bad = FirstBadByte(source);
  if (zero == std::string_view::npos && bad == std::string_view::npos) return Status();
  return InvalidArgument("the source is not UTF-8 text: see byte " +
                         std::to_string(std::min(zero, bad)));
}

}  // namespace

Result<std::string> PackSource(std::string_view source) {
  MLC_TRY(Check(source));
  std::string packed(compressBound(source.size()), '\0');
  uLongf size = packed.size();
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(source.data()), source.size(), 9) != Z_OK) {
    return ResourceExhausted("no memory to compress a source");
  }
  packed.resize(size);
  return ToLetters(packed);
}

Result<std::string> UnpackSource(std::string_view word) {
  const Status bad = InvalidArgument("the word is not a packed source");
  std::string packed;
  if (word.size() > kMaxPacked || !FromLetters(word, &packed)) return bad;
  std::string source(kMaxSource, '\0');
  uLongf size = source.size();
  uLong used = packed.size();
  if (uncompress2(reinterpret_cast<Bytef*>(source.data()), &size,
                  reinterpret_cast<const Bytef*>(packed.data()), &used) != Z_OK ||
      used != packed.size()) {
    return bad;
  }
  source.resize(size);
  MLC_TRY(Check(source));
  return source;
}

}  // namespace mlc::schedule
