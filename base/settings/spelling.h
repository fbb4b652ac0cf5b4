// Finds the name that a misspelled one probably means. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

namespace mlc::settings {

// The name with the smallest edit distance (insertions, deletions, replacements) to `word`; empty
// if that is more than a third of the word's length.
std::string NearestOf(const std::string& word, const std::vector<std::string>& names);

}  // namespace mlc::settings
