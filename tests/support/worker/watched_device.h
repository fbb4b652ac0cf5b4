// A device around another one: it sees what the engine asks for, and spoils builds whose configs
// begin with "fault:". Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "worker/device/worker_device.h"

namespace mlc::testing {

// Before a config: what happens in its build child.
inline constexpr char kCrashingBuild[] = "fault:crash ";
inline constexpr char kHangingBuild[] = "fault:hang ";
// The kernel of `a * a` instead of `a + a`.
inline constexpr char kWrongKernel[] = "fault:wrong ";
// The kernel crashes where it is measured.
inline constexpr char kCrashingKernel[] = "fault:run ";

// Makes a built kernel what `fault` says (one of the above, or empty: a right one), where building
// for the device alone does not.
using Spoiler = void (*)(const std::string& fault, worker::BuiltKernel& built);

class WatchedDevice : public worker::WorkerDevice {
 public:
  WatchedDevice(std::unique_ptr<worker::WorkerDevice> device, Spoiler spoil)
      : device_(std::move(device)), spoil_(spoil) {}

  // How many kernels each task had so far.
  const std::vector<size_t>& tasks() const { return tasks_; }

  const std::vector<target::Target>& targets() const override { return device_->targets(); }
  worker::DeviceDescription Describe(size_t target) const override {
    return device_->Describe(target);
  }
  worker::MeasuringRules rules() const override { return device_->rules(); }
  Result<std::unique_ptr<worker::KernelBuild>> NewBuild(size_t target) override;
  int busy(size_t target) const override { return device_->busy(target); }
  bool Submit(size_t target, const worker::DeviceTask& task) override;
  void StopExtraSamples(size_t target) override { device_->StopExtraSamples(target); }
  std::vector<worker::EndedTask> Collect() override { return device_->Collect(); }
  int AddTo(std::vector<pollfd>& waiting, int timeout_ms) const override {
    return device_->AddTo(waiting, timeout_ms);
  }
  void Note(const worker::DeviceDemand& demand) override { device_->Note(demand); }
  worker::DeviceUse Use() const override { return device_->Use(); }
  std::string TakeWarning() override { return device_->TakeWarning(); }

 private:
  std::unique_ptr<worker::WorkerDevice> device_;
  Spoiler spoil_;
  std::vector<size_t> tasks_;
};

}  // namespace mlc::testing
