// Files that mlc-compile carries inside itself: the runtime's object code and the C
// header of the libraries it writes.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::package {

// The runtime as one relocatable object for a machine, x86_64 or aarch64. NOT_FOUND if this program
// has none for it.
Result<std::string_view> EmbeddedRuntimeObject(const std::string& machine);
// What libraries for GPUs need beside it.
std::string_view EmbeddedDeviceRuntimeObject();
std::string_view EmbeddedModelHeader();

}  // namespace mlc::package
