// The device code of the runner itself, compiled once per worker: a kernel that evicts the L2 cache
// by reading, and one that measures the clock. CUDA C++ without includes. Not thread-safe.
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

  // Enqueues one kernel that reads twice the size of the L2 cache: it evicts all earlier lines and
  // leaves none to write back.
  Status EvictL2();
  // Measures the current clock of the multiprocessors, in MHz. Waits about 20 us.
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
