#include "server/logging/log_text.h"

#include "base/utf8.h"

namespace mlc::server {
namespace {

bool Harmless(char32_t code) {
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
    const Utf8Character first = FirstCharacter(text);
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
