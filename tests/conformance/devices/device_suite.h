// What the engine keeps with every device: the suite of the CPU, the GPUs and fakes. A program that
// compiles device_suite.cc names its devices with INSTANTIATE_TEST_SUITE_P(..., DeviceTest, ...).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/worker/watched_device.h"
#include "worker/engine/engine.h"

namespace mlc::testing {

struct DeviceSubject {
  const char* name;
  // Why it cannot be tested here; empty: it can.
  std::string (*missing)();
  Result<std::unique_ptr<worker::WorkerDevice>> (*create)();
  Spoiler spoil;
  // `spoil` makes kernels that crash.
  bool has_crashing_kernels;
};

inline void PrintTo(const DeviceSubject& subject, std::ostream* out) { *out << subject.name; }

class DeviceTest : public ::testing::TestWithParam<DeviceSubject> {
 protected:
  void SetUp() override;

  // An engine with the device alone.
  void Start(int64_t build_timeout_ms = 60'000);
  void Add(uint64_t uid, const std::string& fault = "", uint64_t seed = 7);
  // The results of so many trials more, in the order in which they came.
  std::vector<worker::TrialResult> Results(size_t count);
  std::map<uint64_t, Measurement> Outcomes(size_t count);

  std::unique_ptr<worker::Engine> engine_;
  WatchedDevice* device_ = nullptr;  // the engine's
  std::string workload_;
  std::string config_;
};

}  // namespace mlc::testing
