// A CUDA device as the driver describes it, as a target. A pure function.
#pragma once

#include "compiler/runtime/cuda_driver.h"
#include "compiler/target/target.h"

namespace mlc::build {

// Without peak figures. Code for it is compiled for exactly this device: newer ones may have
// instructions of their own. Whether the device can be used, Target::Parse of the text says.
target::Target TargetOfDevice(const mlc_cuda_device_facts& facts);

}  // namespace mlc::build
