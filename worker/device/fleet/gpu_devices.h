// The GPUs that this worker may use, as targets. The driver decides which are visible, from
// CUDA_VISIBLE_DEVICES; it is asked in a child process, because a process that has initialised CUDA
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
  int driver = 0;    // 13000 for one that serves CUDA 13.0
  int64_t memory_bytes = 0;
  // Its kernels reach all memory of the process that drives it, by HMM or ATS, not only what the
  // driver was asked for.
  bool reaches_host = false;
  target::Target target;  // copy_gbps is measured by the device's runner
};

// The device as a target; peaks of arithmetic from its clock and what its multiprocessors do each
// cycle. INVALID_ARGUMENT for one that is too old.
Result<target::Target> TargetOf(const mlc_cuda_device_facts& facts);

// FAILED_PRECONDITION without a driver or a device: says what is missing and what to do.
Result<std::vector<GpuDevice>> FindGpus();

}  // namespace mlc::worker
