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
  // Loads the code, runs the preparations on `pool`, uploads their results and allocates memory.
  // `set` is laid out by ReferenceLayoutOf. INVALID_ARGUMENT if the device rejects the code,
  // RESOURCE_EXHAUSTED if memory is exhausted.
  static Result<std::unique_ptr<DeviceKernel>> Bind(Device& device, const graph::Workload& workload,
                                                    const BuiltKernel& built, const DeviceSet& set,
                                                    mlc_pool* pool);

  // Fills all memory that the kernel writes, except counters, with 0xff (NaN as any float).
  Status Poison();
  // Enqueues one execution with weight copy `copy`. REQUIRES: copy < copies().
  Status Execute(int copy);
  int copies() const { return static_cast<int>(arguments_.size()); }
  int launches() const { return static_cast<int>(functions_.size()); }

  // Waits for the stream, then copies all outputs with their guard zones.
  Status ReadOutputs(std::vector<std::byte>& outputs);
  // Output i in the result of ReadOutputs().
  const std::byte* Output(const std::vector<std::byte>& outputs, size_t i) const;
  // Which output was overrun at its beginning or end; empty if none was.
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
  // What launches with one copy of the weights take.
  struct Arguments {
    std::vector<mlc_cu_ptr> addresses;
    std::vector<mlc_cu_tensor_map> maps;  // of what lies there
  };
  Status EncodeMaps();

  std::vector<codegen::CudaLaunch> launches_;
  std::vector<mlc_tensor_map> tensor_maps_;
  std::unique_ptr<DeviceCode> code_;
  std::vector<mlc_cu_function> functions_;
  std::vector<Region> outputs_;
  DeviceMemory output_memory_;
  DeviceMemory scratch_;
  DeviceMemory counters_;
  std::vector<DeviceMemory> prepared_;
  DeviceMemory copies_;
  std::vector<Arguments> arguments_;  // for each copy of the weights
};

}  // namespace mlc::worker
