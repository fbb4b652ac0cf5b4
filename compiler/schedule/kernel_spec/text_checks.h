// What texts from users must be, before anything else reads them. Private to this folder.
// Thread-safe.
#pragma once

#include <string_view>

namespace mlc::schedule {

// A name in C of 1 to 64 characters.
bool IsName(std::string_view text);
// UTF-8 without zero bytes.
bool IsText(std::string_view text);
// False for JSON that is nested too deeply to be read by recursion.
bool IsShallow(std::string_view json);

}  // namespace mlc::schedule
