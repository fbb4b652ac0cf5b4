// Rows of words as a table with aligned columns. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlc::client {

// Two spaces between columns, none after the last one. REQUIRES: rows of equal length, at least
// one.
std::string TableText(const std::vector<std::vector<std::string>>& rows);
// "12s", "3m", "5h", "4d"; a negative age counts as 0.
std::string AgeText(int64_t us);

}  // namespace mlc::client
