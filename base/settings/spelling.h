// Finds the name that a misspelled one stands for. Pure.
#pragma once

#include <string>
#include <vector>

namespace mlc::settings {

// The name that fewest insertions, deletions and replacements of characters make of `word`; empty
// if that takes more than a third of the word's length.
std::string NearestOf(const std::string& word, const std::vector<std::string>& names);

}  // namespace mlc::settings
