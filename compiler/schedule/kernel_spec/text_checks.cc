#include "compiler/schedule/kernel_spec/text_checks.h"

#include <algorithm>
#include <cstddef>

#include "base/utf8.h"
#include "compiler/schedule/kernel_spec/expression_lexer.h"

namespace mlc::schedule {

bool IsName(std::string_view text) {
  constexpr size_t kMaxName = 64;
  return !text.empty() && text.size() <= kMaxName && (text[0] < '0' || text[0] > '9') &&
         std::all_of(text.begin(), text.end(), IsNameCharacter);
}

bool IsText(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    if (!character.valid || character.code == 0) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

bool IsShallow(std::string_view json) {
  constexpr int kMaxNesting = 32;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      if (++depth > kMaxNesting) return false;
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return true;
}

}  // namespace mlc::schedule
