// A TOML document as JSON, for files that may be written in either. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::settings {

// Dates and times become null. INVALID_ARGUMENT with line and column for what is no TOML.
Result<std::string> JsonOfToml(std::string_view toml);

}  // namespace mlc::settings
