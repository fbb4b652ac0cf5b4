// Writes a page to a file. Thread-safe for different files.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::html {

// Replaces a file through a temporary one beside it, so that `path` is unchanged if that fails. A
// pipe, a device or a link is written directly. UNWRITABLE with the path if it cannot be written.
Status WritePage(const std::string& path, std::string_view text);

// The error that WritePage would return, as far as it can be found without writing. For programs
// that compute for long before they write.
Status CheckPageWritable(const std::string& path);

}  // namespace mlc::html
