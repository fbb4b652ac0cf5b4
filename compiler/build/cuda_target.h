// A CUDA device as the driver describes it, as a target. A pure function.
#pragma once

#include "compiler/runtime/cuda_driver.h"
#include "compiler/target/target.h"

namespace mlc::build {

// The target without peak figures. Its code is compiled for exactly this device; newer ones may
// have other instructions. Target::Parse of its text checks whether the device is usable.
target::Target TargetOfDevice(const mlc_cuda_device_facts& facts);

}  // namespace mlc::build
