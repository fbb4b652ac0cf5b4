// The GPUs that this worker may use, as targets. CUDA_VISIBLE_DEVICES and the driver decide which
// GPUs are visible. A child process asks the driver, because a process that has initialised CUDA
// must not fork. REQUIRES: the calling process has one thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/runtime/cuda_driver.h"
#include "compiler/target/target.h"

namespace mlc::worker {

struct GpuDevice {
  int ordinal = 0;  // among the visible ones
  std::string name;
  std::string pci;
  std::string uuid;  // 32 hexadecimal digits
  int driver = 0;    // CUDA version of the driver; 13000 is CUDA 13.0
  int64_t memory_bytes = 0;
  // True if its kernels can access all memory of the host process (HMM or ATS), not only memory
  // that the driver allocated.
  bool reaches_host = false;
  target::Target target;  // copy_gbps is measured by the device's runner
};

// The device as a target. Arithmetic peaks are its clock times the operations of its
// multiprocessors per cycle. INVALID_ARGUMENT if the device is too old.
Result<target::Target> TargetOf(const mlc_cuda_device_facts& facts);

// FAILED_PRECONDITION without a driver or device, with what is missing and what to do.
Result<std::vector<GpuDevice>> FindGpus();

}  // namespace mlc::worker
