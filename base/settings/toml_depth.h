// Whether a TOML document can be read by recursion. Pure.
#pragma once

#include <string_view>

namespace mlc::settings {

// The parser bounds values within values, but not the parts of a key (a.b.c), each of which makes a
// table within another: to give up a document with a key of 100,000 parts takes all of the stack.
inline constexpr int kMostKeyParts = 16;
bool HasDeepKey(std::string_view toml);

}  // namespace mlc::settings
