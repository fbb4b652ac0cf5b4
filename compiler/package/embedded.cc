#include "compiler/package/embedded.h"

#include <array>

// Defined by embedded.S.
extern "C" {
extern const char mlc_embedded_runtime_x86_64[];
extern const char mlc_embedded_runtime_x86_64_end[];
extern const char mlc_embedded_runtime_aarch64[];
extern const char mlc_embedded_runtime_aarch64_end[];
extern const char mlc_embedded_device_runtime[];
extern const char mlc_embedded_device_runtime_end[];
extern const char mlc_embedded_header[];
extern const char mlc_embedded_header_end[];
extern const char mlc_embedded_sizes_header[];
extern const char mlc_embedded_sizes_header_end[];
}

namespace mlc::package {

namespace {

struct Runtime {
  std::string_view machine;
  const char* begin;
  const char* end;  // as `begin`: this program was built without a compiler for the machine
};

constexpr std::array<Runtime, 2> kRuntimes = {
    {{"x86_64", mlc_embedded_runtime_x86_64, mlc_embedded_runtime_x86_64_end},
     {"aarch64", mlc_embedded_runtime_aarch64, mlc_embedded_runtime_aarch64_end}}};

}  // namespace

Result<std::string_view> EmbeddedRuntimeObject(const std::string& machine) {
  for (const Runtime& runtime : kRuntimes) {
    if (runtime.machine != machine || runtime.begin == runtime.end) continue;
    return std::string_view(runtime.begin, static_cast<size_t>(runtime.end - runtime.begin));
  }
  return NotFound("this program has no runtime for libraries for " + machine + ": build it where " +
                  machine + "-linux-gnu-gcc is installed");
}

std::string_view EmbeddedDeviceRuntimeObject() {
  return {mlc_embedded_device_runtime,
          static_cast<size_t>(mlc_embedded_device_runtime_end - mlc_embedded_device_runtime)};
}

std::string_view EmbeddedSizesHeader() {
  return {mlc_embedded_sizes_header,
          static_cast<size_t>(mlc_embedded_sizes_header_end - mlc_embedded_sizes_header)};
}

std::string_view EmbeddedModelHeader() {
  return {mlc_embedded_header, static_cast<size_t>(mlc_embedded_header_end - mlc_embedded_header)};
}

}  // namespace mlc::package
