#include "tests/support/worker/watched_device.h"

#include <cstdlib>

namespace mlc::testing {
namespace {

class SpoiledBuild : public worker::KernelBuild {
 public:
  SpoiledBuild(std::unique_ptr<worker::KernelBuild> build, Spoiler spoil)
      : build_(std::move(build)), spoil_(spoil) {}

  Result<worker::BuiltKernel> Run(const std::string& workload, const std::string& config) override {
    std::string fault;
    for (const char* known : {kCrashingBuild, kHangingBuild, kWrongKernel, kCrashingKernel}) {
      if (config.starts_with(known)) fault = known;
    }
    if (fault == kCrashingBuild) std::abort();
    volatile bool hangs = fault == kHangingBuild;
    while (hangs) {
    }
    std::string built_for = workload;
    const size_t add = built_for.find("add(");
    if (fault == kWrongKernel && add != std::string::npos) built_for.replace(add, 3, "mul");
    worker::BuiltKernel built = MLC_TRY(build_->Run(built_for, config.substr(fault.size())));
    spoil_(fault, built);
    return built;
  }
  std::vector<int> ChildDescriptors() const override { return build_->ChildDescriptors(); }
  void OnStarted() override { build_->OnStarted(); }
  int fd() const override { return build_->fd(); }
  void Serve() override { build_->Serve(); }

 private:
  std::unique_ptr<worker::KernelBuild> build_;
  Spoiler spoil_;
};

}  // namespace

Result<std::unique_ptr<worker::KernelBuild>> WatchedDevice::NewBuild(size_t target) {
  auto build = MLC_TRY(device_->NewBuild(target));
  return std::unique_ptr<worker::KernelBuild>(
      std::make_unique<SpoiledBuild>(std::move(build), spoil_));
}

bool WatchedDevice::Submit(size_t target, const worker::DeviceTask& task) {
  if (!device_->Submit(target, task)) return false;
  tasks_.push_back(task.kernels.size());
  return true;
}

}  // namespace mlc::testing
