// The extents of a launch in the driver's type. Thread-safe.
#pragma once

#include "compiler/runtime/cuda_driver.h"
#include "compiler/target/launch.h"

namespace mlc::codegen {

// REQUIRES: target::CheckLaunch accepts it.
inline mlc_cuda_dim3 ForDriver(const target::Dim3& extent) {
  return {static_cast<uint32_t>(extent.x), static_cast<uint32_t>(extent.y),
          static_cast<uint32_t>(extent.z)};
}

}  // namespace mlc::codegen
