// Files that are embedded in mlc-compile: the object code of the runtime and the C header of
// libraries. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace mlc::package {

// The runtime as one relocatable object for a machine, x86_64 or aarch64. NOT_FOUND if this program
// has none for it.
Result<std::string_view> EmbeddedRuntimeObject(const std::string& machine);
// The additional runtime object of libraries for GPUs.
std::string_view EmbeddedDeviceRuntimeObject();
std::string_view EmbeddedModelHeader();
// As it is in the tree: it includes the other one by its path there.
std::string_view EmbeddedSizesHeader();

}  // namespace mlc::package
