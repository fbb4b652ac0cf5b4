// Text on a terminal: how many columns it takes, and cutting it to fit. UTF-8, where letters of
// East Asia take two columns and combining marks none. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mlc::client {

// What a terminal shows besides ASCII.
enum class Charset : uint8_t { kAscii, kUtf8 };

// Of a locale: the values of LC_ALL, LC_CTYPE and LANG, of which the first that is set decides.
Charset CharsetOf(std::string_view lc_all, std::string_view lc_ctype, std::string_view lang);

// Columns of a text that PrintableOf has made.
size_t ColumnsOf(std::string_view text);
// The text without anything that moves the cursor or turns the direction of writing, and without
// what the terminal cannot show: each such character becomes a question mark.
std::string PrintableOf(std::string_view text, Charset charset);
// A printable text of at most `width` columns. What is cut ends in an ellipsis if there is room.
std::string Fit(std::string_view text, size_t width, Charset charset);

}  // namespace mlc::client
