// Writes small output files. Thread-safe for different files.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc {

// Replaces the file at once, with the same permissions: if the disk is full or the program ends,
// the old one stays. "cannot write 'PATH': why" is UNWRITABLE, which ends a program as an output
// that cannot be written does (exit_code.h).
Status WriteText(const std::string& path, std::string_view text);

}  // namespace mlc
