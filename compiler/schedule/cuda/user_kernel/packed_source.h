// Source code as one word of a text form: compressed with zlib, then encoded in base64 with '-' and
// '_' for '+' and '/', without padding. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::schedule {

inline constexpr size_t kMaxSource = size_t{1} << 20;
// The length for a source that does not compress.
inline constexpr size_t kMaxPacked = kMaxSource / 3 * 4 + 1024;

// Returns at most kMaxPacked characters. INVALID_ARGUMENT if the source is empty, longer than
// kMaxSource, not UTF-8, or contains a zero byte.
Result<std::string> PackSource(std::string_view source);
// Returns the source, at most kMaxSource bytes for any word. INVALID_ARGUMENT if PackSource cannot
// have written the word.
Result<std::string> UnpackSource(std::string_view word);

}  // namespace mlc::schedule
