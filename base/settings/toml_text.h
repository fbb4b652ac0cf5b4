// Writes values and comments of TOML. Pure.
#pragma once

#include <string>
#include <string_view>

namespace mlc::settings {

// A basic string: in quotes, with escapes. Bytes that are no UTF-8 become U+FFFD.
std::string TomlText(std::string_view text);
// `text` as a part of a comment: on one line, without control characters.
std::string CommentText(std::string_view text);

}  // namespace mlc::settings
