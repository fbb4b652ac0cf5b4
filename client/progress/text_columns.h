// The width of text on a terminal in columns, and truncation to a width. UTF-8: East Asian wide
// letters take two columns, combining marks none. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mlc::client {

// The characters that a terminal shows.
enum class Charset : uint8_t { kAscii, kUtf8 };

// The charset of a locale: the first of LC_ALL, LC_CTYPE and LANG that is set decides.
Charset CharsetOf(std::string_view lc_all, std::string_view lc_ctype, std::string_view lang);

// The width of a text that PrintableOf has returned.
size_t ColumnsOf(std::string_view text);
// The text without characters that move the cursor or change the writing direction. Each of them,
// and each character that the terminal cannot show, becomes a question mark.
std::string PrintableOf(std::string_view text, Charset charset);
// The printable text, truncated to `width` columns. A truncated text ends in an ellipsis if there
// is room.
std::string Fit(std::string_view text, size_t width, Charset charset);

}  // namespace mlc::client
