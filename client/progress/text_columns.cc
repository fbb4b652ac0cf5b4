#include "client/progress/text_columns.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace mlc::client {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Blocks whose characters are two columns wide (East Asian Width W and F), a few narrow ones among
// them included: a line that ends early is better than one that wraps.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23f3},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x26ff},   {0x2705, 0x27bf},
    {0x2b1b, 0x2b55},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe10, 0xfe19},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18d08}, {0x1aff0, 0x1b2fb},
    {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf}, {0x1f18e, 0x1f19a}, {0x1f200, 0x1f320},
    {0x1f32d, 0x1faff}, {0x20000, 0x3fffd},
};

// Marks that are drawn over the character before them.
constexpr Range kCombining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
};

// What moves the cursor, is no character, or changes how the text after it is laid out: controls,
// joiners and marks of direction, separators of lines, private use, tags.
constexpr Range kUnprintable[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},    {0x061c, 0x061c}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f},   {0xe000, 0xf8ff},    {0xfeff, 0xfeff}, {0xfff0, 0xfffb},
    {0xfffe, 0xffff}, {0xe0000, 0xe0fff}, {0xf0000, 0x10ffff},
};

template <size_t N>
bool IsIn(const Range (&ranges)[N], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [&](const Range& range) { return range.first <= code && code <= range.last; });
}

size_t ColumnsOf(const Utf8Character& character) {
  if (!character.valid) return 1;
  if (IsIn(kCombining, character.code)) return 0;
  return IsIn(kWide, character.code) ? 2 : 1;
}

// The part of the text that takes at most `width` columns.
std::string_view HeadOf(std::string_view text, size_t width) {
  size_t columns = 0;
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Character character = FirstCharacter(text.substr(at));
    columns += ColumnsOf(character);
    if (columns > width) break;
    at += character.bytes;
  }
  return text.substr(0, at);
}

}  // namespace

Charset CharsetOf(std::string_view lc_all, std::string_view lc_ctype, std::string_view lang) {
  const std::string_view locale = !lc_all.empty() ? lc_all : !lc_ctype.empty() ? lc_ctype : lang;
  std::string name;
  for (const char c : locale) {
    if (c != '-') name += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return name.find("utf8") != std::string::npos ? Charset::kUtf8 : Charset::kAscii;
}

size_t ColumnsOf(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    columns += ColumnsOf(character);
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string PrintableOf(std::string_view text, Charset charset) {
  std::string printable;
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    const bool shown = character.valid && !IsIn(kUnprintable, character.code) &&
                       (charset == Charset::kUtf8 || character.code < 0x80);
    printable += shown ? text.substr(0, character.bytes) : std::string_view("?");
    text.remove_prefix(character.bytes);
  }
  return printable;
}

std::string Fit(std::string_view text, size_t width, Charset charset) {
  std::string printable = PrintableOf(text, charset);
  if (ColumnsOf(printable) <= width) return printable;
  const std::string_view ellipsis = charset == Charset::kUtf8 ? "\u2026" : "...";
  const size_t taken = ColumnsOf(ellipsis);
  // Of a few columns, none is spent on saying that there is more.
  if (width < 4 * taken) return std::string(HeadOf(printable, width));
  return std::string(HeadOf(printable, width - taken)) + std::string(ellipsis);
}

}  // namespace mlc::client
