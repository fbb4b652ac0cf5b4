// Source code as one word of a text form: compressed (zlib), then written in the letters of base64
// that suit a word ('-' and '_' for '+' and '/', no padding). Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::schedule {

inline constexpr size_t kMaxSource = size_t{1} << 20;
// Of a source that cannot be compressed at all.
inline constexpr size_t kMaxPacked = kMaxSource / 3 * 4 + 1024;

// At most kMaxPacked letters. INVALID_ARGUMENT for a source that is empty, longer than kMaxSource,
// no UTF-8, or has a zero byte.
Result<std::string> PackSource(std::string_view source);
// The source again, never more than kMaxSource bytes whatever the word. INVALID_ARGUMENT for a word
// that no source was packed to.
Result<std::string> UnpackSource(std::string_view word);

}  // namespace mlc::schedule
