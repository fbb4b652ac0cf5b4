// A trial on its way through the engine. Stays where it is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/process/child.h"
#include "worker/build/trial.h"
#include "worker/check/reference_store.h"
#include "worker/device/worker_device.h"

namespace mlc::worker {

enum class Stage : uint8_t {
  kQueued,
  kBuilding,
  kBuilt,
  kMeasuring,  // its device has it
  kDone,       // it has a result or is cancelled, and is dropped at the next opportunity
};

struct Job {
  Trial trial;
  Stage stage = Stage::kQueued;
  WorkerDevice* device = nullptr;
  size_t device_target = 0;      // among the device's
  WorkloadData* data = nullptr;  // null for one that fails when it comes in
  std::unique_ptr<KernelBuild> build;
  std::optional<Child> builder;
  BuiltKernel built;
  uint64_t ticket = 0;  // of the device's task that it is part of
  size_t together = 1;  // kernels of that task
  bool alone = false;   // a kernel that it was to be timed beside failed

  // Built, with something to compare its results with.
  bool ready() const { return stage == Stage::kBuilt && !data->sets.empty(); }
};

}  // namespace mlc::worker
