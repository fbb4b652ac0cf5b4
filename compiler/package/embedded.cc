#include "compiler/package/embedded.h"

// Defined by embedded.S.
extern "C" {
extern const char mlc_embedded_runtime[];
extern const char mlc_embedded_runtime_end[];
extern const char mlc_embedded_device_runtime[];
extern const char mlc_embedded_device_runtime_end[];
extern const char mlc_embedded_header[];
extern const char mlc_embedded_header_end[];
}

namespace mlc::package {

std::string_view EmbeddedRuntimeObject() {
  return {mlc_embedded_runtime,
          static_cast<size_t>(mlc_embedded_runtime_end - mlc_embedded_runtime)};
}

std::string_view EmbeddedDeviceRuntimeObject() {
  return {mlc_embedded_device_runtime,
          static_cast<size_t>(mlc_embedded_device_runtime_end - mlc_embedded_device_runtime)};
}

std::string_view EmbeddedModelHeader() {
  return {mlc_embedded_header, static_cast<size_t>(mlc_embedded_header_end - mlc_embedded_header)};
}

}  // namespace mlc::package
