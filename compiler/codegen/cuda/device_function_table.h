// The table of device functions: name, dependencies and definitions. A function is after those that
// it depends on. Immutable; thread-safe.
#pragma once

#include <string_view>
#include <vector>

namespace mlc::codegen {

struct DeviceFunction {
  std::string_view name;
  std::vector<std::string_view> needs;
  // Without the leading "__device__ __forceinline__ ", unless it is a template; or a type.
  std::vector<std::string_view> definitions;
};

const std::vector<DeviceFunction>& ScalarDeviceFunctions();
const std::vector<DeviceFunction>& Float8DeviceFunctions();
const std::vector<DeviceFunction>& UnpackDeviceFunctions();
const std::vector<DeviceFunction>& WarpDeviceFunctions();
const std::vector<DeviceFunction>& AsyncDeviceFunctions();
const std::vector<DeviceFunction>& BoxDeviceFunctions();

}  // namespace mlc::codegen
