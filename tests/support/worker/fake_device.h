// A device that measures nothing: a kernel is the text of the workload that it was built for, and
// right if that is the workload of its trial. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/device/worker_device.h"

namespace mlc::testing {

struct FakeDeviceOptions {
  worker::MeasuringRules rules;
  int devices = 1;
};

class FakeDevice : public worker::WorkerDevice {
 public:
  // What a kernel's object is replaced with for one that crashes.
  static constexpr char kCrashes[] = "crashes";

  explicit FakeDevice(const FakeDeviceOptions& options);

  // Tasks do not end from now on, or those that are there may.
  void set_hold(bool hold) { hold_ = hold; }
  // Tasks that it was given, and how often others were said to wait.
  int submitted() const { return submitted_; }
  int stops() const { return stops_; }

  const std::vector<target::Target>& targets() const override { return targets_; }
  worker::DeviceDescription Describe(size_t target) const override;
  worker::MeasuringRules rules() const override { return options_.rules; }
  Result<std::unique_ptr<worker::KernelBuild>> NewBuild(size_t target) override;
  int busy(size_t /*target*/) const override { return static_cast<int>(tasks_.size()); }
  bool Submit(size_t target, const worker::DeviceTask& task) override;
  void StopExtraSamples(size_t /*target*/) override { ++stops_; }
  std::vector<worker::EndedTask> Collect() override;
  int AddTo(std::vector<pollfd>& waiting, int timeout_ms) const override;
  void Note(const worker::DeviceDemand& demand) override { demand_ = demand; }
  worker::DeviceUse Use() const override { return {}; }
  std::string TakeWarning() override { return {}; }
  const worker::DeviceDemand& demand() const { return demand_; }

 private:
  FakeDeviceOptions options_;
  std::vector<target::Target> targets_;
  std::vector<worker::EndedTask> tasks_;  // with their results
  worker::DeviceDemand demand_;
  bool hold_ = false;
  int submitted_ = 0;
  int stops_ = 0;
};

}  // namespace mlc::testing
