#include "compiler/build/cuda_target.h"

namespace mlc::build {

target::Target TargetOfDevice(const mlc_cuda_device_facts& facts) {
  target::Target target;
  auto& gpu = target.device.emplace<target::GpuTarget>();
  gpu.compute = facts.compute;
  gpu.arch_specific = facts.compute >= 90;
  gpu.sms = facts.sms;
  gpu.block_bytes = facts.block_bytes;
  gpu.sm_bytes = facts.sm_bytes;
  gpu.l2_bytes = facts.l2_bytes;
  return target;
}

}  // namespace mlc::build
