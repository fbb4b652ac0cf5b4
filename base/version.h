// The release of the programs. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace mlc {

// What `program --version` prints: its name and the release, as in "mlc-tune 1.0.0".
std::string VersionText(std::string_view program);

}  // namespace mlc
