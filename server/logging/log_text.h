// Escapes text that callers chose (names, labels, details), so that it cannot start a new line in
// the log or control a terminal. Pure.
#pragma once

#include <string>
#include <string_view>

namespace mlc::server {

// Returns the text with control characters, line separators, direction marks and invalid UTF-8
// escaped as
// , \t or \xHH.
std::string OneLine(std::string_view text);

}  // namespace mlc::server
