#include "base/settings/spelling.h"

#include <algorithm>
#include <numeric>

namespace mlc::settings {
namespace {

// Edits that make `b` of `a`: row by row of the usual table.
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestOf(const std::string& word, const std::vector<std::string>& names) {
  // A key can be as long as its file.
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest) return {};
  std::string nearest;
  size_t least = word.size() / 3 + 1;
  for (const std::string& name : names) {
    const size_t distance = Distance(word, name);
    if (distance < least) least = distance, nearest = name;
  }
  return nearest;
}

}  // namespace mlc::settings
