#include "base/settings/toml_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace mlc::settings {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the UTF-8 character that `text` begins with; 0 if there is none.
size_t CharacterLength(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 0 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) return 0;
  }
  // Longer than needed, half of a pair, or beyond the last character.
  const auto second = length > 1 ? static_cast<uint8_t>(text[1]) : uint8_t{0};
  const bool is_wrong = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                        (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return is_wrong ? 0 : length;
}

bool IsControl(char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7F; }

// Each character of `text` by `write`, what is none as U+FFFD.
template <typename Write>
std::string Rewritten(std::string_view text, const Write& write) {
  std::string result;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    result += length == 0 ? kReplacement : write(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace

std::string TomlText(std::string_view text) {
  const auto escaped = [](std::string_view character) {
    const char c = character[0];
    if (c == '"' || c == '\\') return "\\" + std::string(character);
    if (!IsControl(c)) return std::string(character);
    std::array<char, 8> code{};
    (void)std::snprintf(code.data(), code.size(), "\\u%04X", static_cast<unsigned>(c));
    return std::string(code.data());
  };
  return "\"" + Rewritten(text, escaped) + "\"";
}

std::string CommentText(std::string_view text) {
  return Rewritten(text, [](std::string_view character) {
    return IsControl(character[0]) ? std::string("?") : std::string(character);
  });
}

}  // namespace mlc::settings
