// A trial in the engine. Its address is stable. Not thread-safe.
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
  kMeasuring,  // its device measures it
  kDone,       // it has a result or was cancelled; the engine removes it next
};

struct Job {
  Trial trial;
  Stage stage = Stage::kQueued;
  WorkerDevice* device = nullptr;
  size_t device_target = 0;      // index among the device's targets
  WorkloadData* data = nullptr;  // null if the trial failed on arrival
  std::unique_ptr<KernelBuild> build;
  std::optional<Child> builder;
  BuiltKernel built;
  uint64_t ticket = 0;  // of the device task that includes it
  size_t together = 1;  // kernels of the device task
  bool alone = false;   // measure it alone: another kernel of its group failed

  // True if it is built and has a reference set.
  bool ready() const { return stage == Stage::kBuilt && !data->sets.empty(); }
};

}  // namespace mlc::worker
