#include "server/logging/log_text.h"

#include <cstdint>

namespace mlc::server {
namespace {

struct Character {
  size_t bytes = 1;
  uint32_t code = 0;
  bool valid = false;
};

// The UTF-8 character at the start of a text that is not empty.
Character First(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, lead, true};
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  uint32_t code = lead & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3f);
  }
  const bool too_long = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return {bytes, code, !too_long && !surrogate && code <= 0x10ffff};
}

bool Harmless(uint32_t code) {
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool ends_or_turns_lines =
      (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !control && !ends_or_turns_lines;
}

void AppendEscaped(std::string& line, char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  if (c == '\n') {
    line += "\\n";
  } else if (c == '\t') {
    line += "\\t";
  } else {
    const auto byte = static_cast<unsigned char>(c);
    line += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
}

}  // namespace

std::string OneLine(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    Character first = First(text);
    if (!first.valid) first.bytes = 1;
    const std::string_view bytes = text.substr(0, first.bytes);
    if (first.valid && Harmless(first.code)) {
      line += bytes;
    } else {
      for (const char c : bytes) AppendEscaped(line, c);
    }
    text.remove_prefix(first.bytes);
  }
  return line;
}

}  // namespace mlc::server
