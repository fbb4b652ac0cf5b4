// One message, one line: what callers have chosen, names, labels and details, must not begin a line
// of its own or talk to a terminal. Pure.
#pragma once

#include <string>
#include <string_view>

namespace mlc::server {

// Control characters, those that end lines or turn their direction, and bytes that are no UTF-8 as
// \n, \t or \xHH; everything else as it is.
std::string OneLine(std::string_view text);

}  // namespace mlc::server
