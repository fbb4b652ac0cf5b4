#include "base/settings/toml_depth.h"

#include <algorithm>

namespace mlc::settings {
namespace {

// The length of the text in quotes or of the comment that `rest` begins with; 0 if it does not.
// What is cut off ends with the document or, if it is to end on its line, there: the parser does
// not read further either.
size_t Skipped(std::string_view rest) {
  const char mark = rest.front();
  if (mark == '#') return std::min(rest.find('\n'), rest.size());
  if (mark != '"' && mark != '\'') return 0;
  const bool of_lines = rest.size() > 2 && rest[1] == mark && rest[2] == mark;
  const std::string_view end = rest.substr(0, of_lines ? 3 : 1);
  for (size_t i = end.size(); i < rest.size(); ++i) {
    if (!of_lines && rest[i] == '\n') return i;
    if (mark == '"' && rest[i] == '\\' && (of_lines || !rest.substr(i + 1).starts_with('\n'))) {
      ++i;
    } else if (rest.substr(i, end.size()) == end) {
      i += end.size();
      // Two quotes may stand before those that end several lines.
      for (int n = 0; of_lines && n < 2 && i < rest.size() && rest[i] == mark; ++n) ++i;
      return i;
    }
  }
  return rest.size();
}

}  // namespace

bool HasDeepKey(std::string_view toml) {
  int parts = 1;
  for (size_t i = 0; i < toml.size(); ++i) {
    if (const size_t skipped = Skipped(toml.substr(i)); skipped > 0) {
      i += skipped - 1;
    } else if (toml[i] == '.') {
      if (++parts > kMostKeyParts) return true;
    } else if (std::string_view("=,[]{}\n").find(toml[i]) != std::string_view::npos) {
      parts = 1;
    }
  }
  return false;
}

}  // namespace mlc::settings
