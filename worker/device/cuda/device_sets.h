// The reference sets that a runner keeps on its device: operands are uploaded once, expected
// outputs are prepared for checking. The least recently used set is evicted. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "base/status.h"
#include "compiler/graph/workload.h"
#include "worker/check/reference.h"
#include "worker/device/cuda/device.h"
#include "worker/device/cuda/expected.h"

namespace mlc::worker {

struct DeviceSet {
  uint64_t serial = 0;
  SharedMemory memory;  // the set on the host
  DeviceMemory operands_memory;
  std::vector<mlc_cu_ptr> operands;      // parallel to Workload::operands()
  std::vector<ExpectedOutput> expected;  // parallel to Workload::outputs()
  int64_t last_use = 0;
};

class DeviceSets {
 public:
  DeviceSets(Device& device, int64_t budget_bytes) : device_(device), budget_(budget_bytes) {}

  bool Holds(uint64_t serial) const;
  // Takes ownership of the set's memory. RESOURCE_EXHAUSTED if it does not fit.
  Status Add(const graph::Workload& workload, uint64_t serial, SharedMemory memory);
  // REQUIRES: Holds(serial). Valid until the next Add.
  const DeviceSet& Use(uint64_t serial);

 private:
  void MakeRoom(int64_t bytes);

  Device& device_;
  int64_t budget_;
  std::list<DeviceSet> sets_;
  int64_t uses_ = 0;
};

}  // namespace mlc::worker
