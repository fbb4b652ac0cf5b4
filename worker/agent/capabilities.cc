#include "worker/agent/capabilities.h"

#include <string>

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"

namespace mlc::worker {

proto::Capabilities CapabilitiesOf(const DeviceDescription& device) {
  proto::Capabilities capabilities;
  for (const schedule::Family* family : schedule::Families()) {
    capabilities.add_kernels(std::string(family->name()) + "/" + std::to_string(family->version()));
  }
  if (device.user_kernels) {
    for (const std::string& name : schedule::UserKernelNames()) capabilities.add_kernels(name);
  }
  capabilities.set_devices(device.devices);
  capabilities.set_memory_bytes(device.memory_bytes);
  capabilities.set_llvm(device.llvm);
  capabilities.set_nvrtc(device.nvrtc);
  capabilities.set_driver(device.driver);
  for (const std::string& precision : device.precisions) capabilities.add_precisions(precision);
  return capabilities;
}

}  // namespace mlc::worker
