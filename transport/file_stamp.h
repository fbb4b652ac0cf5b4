// Tells one state of a file from another, for files that are followed while a program runs.
#pragma once

#include <string>

namespace mlc::transport {

// Of which file, how long and when written; empty if there is none.
std::string StampOf(const std::string& path);

}  // namespace mlc::transport
