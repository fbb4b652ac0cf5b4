// The turns that an engine gives to devices that measure alone and to others, with fake ones.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/worker/fake_device.h"
#include "worker/engine/engine.h"
#include "worker/local_trial.h"

namespace mlc::worker {
namespace {

using testing::FakeDevice;

constexpr int kAlone = 0;
constexpr int kBeside = 1;

class Scheduling : public ::testing::Test {
 protected:
  Scheduling() {
    std::vector<std::unique_ptr<WorkerDevice>> devices;
    auto alone = std::make_unique<FakeDevice>(testing::FakeDeviceOptions{.rules = {.alone = true}});
    alone_ = alone.get();
    devices.push_back(std::move(alone));
    auto beside = std::make_unique<FakeDevice>(
        testing::FakeDeviceOptions{.rules = {.alone = false, .most_together = 2}, .devices = 1});
    beside_ = beside.get();
    devices.push_back(std::move(beside));
    EngineOptions options;
    options.builders = 2;
    engine_ = std::make_unique<Engine>(options, std::move(devices));
    workload_ = graph::Workload::Parse(
                    "workload v1 tolerance=1e-05 {\n%0 = input() : f32[16]\n"
                    "%1 = add(%0, %0) : f32[16]\nreturn %1\n}\n")
                    ->ToText();
    config_ = *DefaultConfig(workload_, engine_->target());
  }

  void Add(uint64_t uid, int target, uint64_t seed) {
    Trial trial;
    trial.uid = {0, uid};
    trial.workload = workload_;
    trial.config = config_;
    trial.seed = seed;
    trial.target = target;
    engine_->Add(trial);
  }
  template <typename Condition>
  void WorkUntil(const Condition& condition) {
    while (!condition()) engine_->Work(20, -1);
  }
  // Everything that the engine holds for the device is built and has a reference.
  bool IsBuilt(const FakeDevice& device, int held) const {
    const DeviceDemand& demand = device.demand();
    return demand.held == held && demand.unbuilt == 0 && demand.unchecked == 0;
  }
  std::vector<uint64_t> Uids() {
    std::vector<uint64_t> uids;
    for (const TrialResult& result : engine_->TakeResults()) uids.push_back(result.uid.low);
    return uids;
  }

  std::unique_ptr<Engine> engine_;
  FakeDevice* alone_;   // the engine's
  FakeDevice* beside_;  // the same
  std::string workload_;
  std::string config_;
};

TEST_F(Scheduling, OneThatMeasuresAloneWaitsForTheOthers) {
  beside_->set_hold(true);
  Add(1, kBeside, 7);
  WorkUntil([&] { return beside_->busy(0) == 1; });
  Add(2, kAlone, 7);
  WorkUntil([&] { return IsBuilt(*alone_, 1); });
  EXPECT_FALSE(engine_->ReadyToMeasure()) << "the other one is at work";
  beside_->set_hold(false);
  WorkUntil([&] { return engine_->ReadyToMeasure(); });
  EXPECT_EQ(Uids(), std::vector<uint64_t>{1});
  EXPECT_EQ(alone_->submitted(), 0);
  engine_->Measure();
  EXPECT_EQ(Uids(), std::vector<uint64_t>{2});
  EXPECT_EQ(engine_->held(), 0u);
}

TEST_F(Scheduling, WhileOneWaitsToMeasureAloneTheOthersGetNothingNew) {
  Add(1, kAlone, 7);
  WorkUntil([&] { return engine_->ReadyToMeasure(); });
  Add(2, kBeside, 7);
  WorkUntil([&] { return IsBuilt(*beside_, 1); });
  EXPECT_EQ(beside_->submitted(), 0);
  EXPECT_GT(beside_->stops(), 0) << "what it does beyond need ends";
  EXPECT_TRUE(engine_->ReadyToMeasure());
  engine_->Measure();
  WorkUntil([&] { return beside_->submitted() == 1; });
  WorkUntil([&] { return engine_->held() == 0; });
  EXPECT_EQ(Uids(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(Scheduling, OneThatMeasuresAloneWaitsUntilAllOfItsTrialsAreBuilt) {
  Add(1, kAlone, 7);
  WorkUntil([&] { return engine_->ReadyToMeasure(); });
  Add(2, kAlone, 7);
  EXPECT_FALSE(engine_->ReadyToMeasure());
  WorkUntil([&] { return engine_->ReadyToMeasure(); });
  engine_->Measure();
  EXPECT_EQ(Uids(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(Scheduling, ABusyDeviceStopsExtraSamplesWhenAnotherTrialWaits) {
  beside_->set_hold(true);
  Add(1, kBeside, 7);
  WorkUntil([&] { return beside_->busy(0) == 1; });
  EXPECT_EQ(beside_->stops(), 0);
  Add(2, kBeside, 8);
  WorkUntil([&] { return beside_->stops() > 0; });
  EXPECT_EQ(beside_->submitted(), 1);
  beside_->set_hold(false);
  WorkUntil([&] { return engine_->held() == 0; });
  EXPECT_EQ(Uids(), (std::vector<uint64_t>{1, 2}));
}

TEST_F(Scheduling, TheRestOfAGroupIsMeasuredAgainAfterACancellation) {
  beside_->set_hold(true);
  Add(1, kBeside, 7);
  Add(2, kBeside, 7);
  WorkUntil([&] { return beside_->busy(0) == 1; });
  EXPECT_EQ(beside_->submitted(), 1) << "one task of two";
  engine_->Cancel({0, 1});
  beside_->set_hold(false);
  WorkUntil([&] { return engine_->held() == 0; });
  EXPECT_EQ(Uids(), std::vector<uint64_t>{2});
  EXPECT_EQ(beside_->submitted(), 2);
}

}  // namespace
}  // namespace mlc::worker
