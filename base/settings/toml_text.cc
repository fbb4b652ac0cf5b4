#include "base/settings/toml_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "base/utf8.h"

namespace mlc::settings {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";  // U+FFFD

bool IsControl(char c) { return static_cast<uint8_t>(c) < 0x20 || c == 0x7F; }

// Each character of `text` by `write`, what is none as U+FFFD.
template <typename Write>
std::string Rewritten(std::string_view text, const Write& write) {
  std::string result;
  while (!text.empty()) {
    const Utf8Character first = FirstCharacter(text);
    result += first.valid ? write(text.substr(0, first.bytes)) : kReplacement;
    text.remove_prefix(first.bytes);
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
