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

namespace {

#if defined(__aarch64__)
constexpr std::string_view kOwnMachine = "aarch64";
#else
constexpr std::string_view kOwnMachine = "x86_64";
#endif

}  // namespace

Result<std::string_view> EmbeddedRuntimeObject(const std::string& machine) {
  if (machine != kOwnMachine) {
    return NotFound("this program has no runtime for libraries for " + machine);
  }
  return std::string_view(mlc_embedded_runtime,
                          static_cast<size_t>(mlc_embedded_runtime_end - mlc_embedded_runtime));
}

std::string_view EmbeddedDeviceRuntimeObject() {
  return {mlc_embedded_device_runtime,
          static_cast<size_t>(mlc_embedded_device_runtime_end - mlc_embedded_device_runtime)};
}

std::string_view EmbeddedModelHeader() {
  return {mlc_embedded_header, static_cast<size_t>(mlc_embedded_header_end - mlc_embedded_header)};
}

}  // namespace mlc::package
