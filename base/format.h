// Text by a printf format, for what people read; text forms use base/text.h. At most 511 bytes, the
// rest is cut. Thread-safe.
#pragma once

#include <string>

namespace mlc {

__attribute__((format(printf, 1, 2))) std::string Format(const char* format, ...);

}  // namespace mlc
