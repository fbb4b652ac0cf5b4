// Writes a page to a file. Thread-safe for different files.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::html {

// Replaces a file by way of a temporary one beside it: `path` is as it was
// where that fails. A pipe, a device or a link is written as it is. UNWRITABLE with the path if
// it cannot be written.
Status WritePage(const std::string& path, std::string_view text);

// UNWRITABLE as WritePage would, as far as that shows without writing: for programs that work
// for long before they write.
Status CheckPageWritable(const std::string& path);

}  // namespace mlc::html
