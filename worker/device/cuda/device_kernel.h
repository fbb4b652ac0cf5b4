// A built kernel bound to buffers on a device: loaded code, prepared weights, poisoned outputs with
// guard zones, scratch, counters, and copies of the weights for the rotation. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/runtime/thread_pool.h"
#include "worker/build/built_kernel.h"
#include "worker/device/cuda/device.h"
#include "worker/device/cuda/device_sets.h"

namespace mlc::worker {

class DeviceKernel {
 public:
  // Loads, runs the preparations on `pool` and uploads what they made, allocates. Reference data in
  // `set` is laid out by ReferenceLayoutOf. INVALID_ARGUMENT if the device refuses the code,
  // RESOURCE_EXHAUSTED if memory is out.
  static Result<std::unique_ptr<DeviceKernel>> Bind(Device& device, const graph::Workload& workload,
                                                    const BuiltKernel& built, const DeviceSet& set,
                                                    mlc_pool* pool);

  // Everything that a kernel writes but its counters becomes 0xff, NaN as any float.
  Status Poison();
  // Enqueues one execution with a copy of the weights below copies().
  Status Execute(int copy);
  int copies() const { return static_cast<int>(parameters_.size()); }
  int launches() const { return static_cast<int>(functions_.size()); }

  // All outputs with their guard zones, waiting for the stream first.
  Status ReadOutputs(std::vector<std::byte>& outputs);
  // Output i in what ReadOutputs() gave.
  const std::byte* Output(const std::vector<std::byte>& outputs, size_t i) const;
  // Empty, or which output's end or beginning was overrun.
  std::string GuardError(const std::vector<std::byte>& outputs) const;

 private:
  struct Region {
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  explicit DeviceKernel(Device& device) : device_(device) {}
  Status LoadFunctions(const DevicePart& part);
  Status LayOutOutputs(const graph::Workload& workload);
  Status Prepare(const graph::Workload& workload, const BuiltKernel& built, const DeviceSet& set,
                 mlc_pool* pool);
  Status FillParameters(const graph::Workload& workload, const BuiltKernel& built,
                        const DeviceSet& set);

  Device& device_;
  std::vector<codegen::CudaLaunch> launches_;
  std::unique_ptr<DeviceCode> code_;
  std::vector<mlc_cu_function> functions_;
  std::vector<Region> outputs_;
  DeviceMemory output_memory_;
  DeviceMemory scratch_;
  DeviceMemory counters_;
  std::vector<DeviceMemory> prepared_;
  DeviceMemory copies_;
  std::vector<std::vector<mlc_cu_ptr>> parameters_;  // for each copy of the weights
};

}  // namespace mlc::worker
