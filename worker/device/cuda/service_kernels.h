// The runner's own device code, compiled once per worker: emptying the L2 cache by reading, and
// measuring the clock. CUDA C++ without includes.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "worker/device/cuda/device.h"

namespace mlc::worker {

std::string_view ServiceSource();

class ServiceKernels {
 public:
  // `image`: the compiled ServiceSource().
  static Result<std::unique_ptr<ServiceKernels>> Create(Device& device, const std::string& image);

  // Enqueues one kernel that reads twice the L2 cache's size: what was there before is gone, and
  // nothing is left to be written back.
  Status EvictL2();
  // The clock of the multiprocessors now, in MHz: about 20 us. Waits.
  Result<double> ClockMhz();

 private:
  explicit ServiceKernels(Device& device) : device_(device) {}

  Device& device_;
  std::unique_ptr<DeviceCode> code_;
  mlc_cu_function read_ = nullptr;
  mlc_cu_function clock_ = nullptr;
  DeviceMemory memory_;
  DeviceMemory answer_;
};

}  // namespace mlc::worker
