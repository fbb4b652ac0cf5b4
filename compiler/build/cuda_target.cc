#include "compiler/build/cuda_target.h"

namespace mlc::build {

target::Target TargetOfDevice(const mlc_cuda_device_facts& facts) {
  target::Target target;
  target.device = target::Device::kCuda;
  target.arch.clear();
  target.compute = facts.compute;
  target.arch_specific = facts.compute >= 90;
  target.sms = facts.sms;
  target.block_bytes = facts.block_bytes;
  target.sm_bytes = facts.sm_bytes;
  target.l2_bytes = facts.l2_bytes;
  return target;
}

}  // namespace mlc::build
