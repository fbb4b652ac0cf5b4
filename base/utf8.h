// Decodes UTF-8 (RFC 3629), for programs that show text of others. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string_view>

namespace mlc {

struct Utf8Character {
  char32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

// The first character of a text that is not empty. Where there is none (a stray or missing byte, a
// longer form than needed, a surrogate, beyond U+10FFFF): one byte, not valid.
Utf8Character FirstCharacter(std::string_view text);

}  // namespace mlc
