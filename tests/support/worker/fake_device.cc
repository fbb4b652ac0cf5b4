#include "tests/support/worker/fake_device.h"

#include <memory>
#include <utility>

#include "compiler/schedule/space/family.h"
#include "worker/build/trial.h"

namespace mlc::testing {
namespace {

class FakeBuild : public worker::KernelBuild {
 public:
  Result<worker::BuiltKernel> Run(const std::string& workload, const std::string& config) override {
    MLC_TRY(schedule::Config::Parse(config));
    worker::BuiltKernel built;
    built.object = workload;
    built.build_ms = 1;
    return built;
  }
};

Measurement MeasurementOf(const worker::BuiltKernel& kernel, const std::string& workload) {
  if (kernel.object == FakeDevice::kCrashes) return worker::Failed(Outcome::kRunError, "crashed");
  if (kernel.object != workload) return worker::Failed(Outcome::kWrongResult, "another workload");
  Measurement measurement;
  measurement.outcome = Outcome::kOk;
  measurement.median_ns = 1000;
  measurement.runs = 1;
  return measurement;
}

}  // namespace

FakeDevice::FakeDevice(const FakeDeviceOptions& options)
    : options_(options), targets_({target::DetectHost(1)}) {}

worker::DeviceDescription FakeDevice::Describe(size_t target) const {
  worker::DeviceDescription description;
  description.target = targets_[target].ToText();
  description.kind = "CPU";
  description.devices = options_.devices;
  return description;
}

Result<std::unique_ptr<worker::KernelBuild>> FakeDevice::NewBuild(size_t /*target*/) {
  return std::unique_ptr<worker::KernelBuild>(std::make_unique<FakeBuild>());
}

bool FakeDevice::Submit(size_t /*target*/, const worker::DeviceTask& task) {
  worker::EndedTask& ended = tasks_.emplace_back();
  ended.ticket = task.ticket;
  ended.took_s = 1e-6;
  for (const worker::BuiltKernel* kernel : task.kernels) {
    Measurement measurement = MeasurementOf(*kernel, task.workload_text);
    const bool failed = measurement.outcome != Outcome::kOk;
    // As of GPUs: a failure of one says nothing about the others.
    if (failed) ended.measurements.clear();
    ended.measurements.push_back(std::move(measurement));
    if (failed) break;
  }
  ++submitted_;
  return true;
}

std::vector<worker::EndedTask> FakeDevice::Collect() {
  if (hold_) return {};
  return std::exchange(tasks_, {});
}

int FakeDevice::AddTo(std::vector<pollfd>& /*waiting*/, int timeout_ms) const {
  return tasks_.empty() || hold_ ? timeout_ms : 0;
}

}  // namespace mlc::testing
