// Files that mlc-compile carries inside itself: the runtime's object code and the C
// header of the libraries it writes.
#pragma once

#include <string_view>

namespace mlc::package {

// The runtime as one relocatable object for the machine this program was built for.
std::string_view EmbeddedRuntimeObject();
// What libraries for GPUs need beside it.
std::string_view EmbeddedDeviceRuntimeObject();
std::string_view EmbeddedModelHeader();

}  // namespace mlc::package
