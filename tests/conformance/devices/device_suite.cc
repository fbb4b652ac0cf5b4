#include "tests/conformance/devices/device_suite.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "worker/local_trial.h"

namespace mlc::testing {
namespace {

using worker::TrialResult;

size_t OpenDescriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    count += entry.path().empty() ? 0 : 1;
  }
  return count;
}

}  // namespace

void DeviceTest::SetUp() {
  const std::string missing = GetParam().missing();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

void DeviceTest::Start(int64_t build_timeout_ms) {
  auto created = GetParam().create();
  ASSERT_TRUE(created.ok()) << created.status().ToString();
  auto device = std::make_unique<WatchedDevice>(*std::move(created), GetParam().spoil);
  device_ = device.get();
  std::vector<std::unique_ptr<worker::WorkerDevice>> devices;
  devices.push_back(std::move(device));
  worker::EngineOptions options;
  options.builders = 2;
  options.build_timeout_ms = build_timeout_ms;
  engine_ = std::make_unique<worker::Engine>(options, std::move(devices));
  workload_ = graph::Workload::Parse(
                  "workload v1 tolerance=1e-05 {\n%0 = input() : f32[1000]\n"
                  "%1 = add(%0, %0) : f32[1000]\nreturn %1\n}\n")
                  ->ToText();
  config_ = *worker::DefaultConfig(workload_, engine_->target());
}

void DeviceTest::Add(uint64_t uid, const std::string& fault, uint64_t seed) {
  worker::Trial trial;
  trial.uid = {0, uid};
  trial.workload = workload_;
  trial.config = fault + config_;
  trial.seed = seed;
  engine_->Add(trial);
}

std::vector<TrialResult> DeviceTest::Results(size_t count) {
  std::vector<TrialResult> results;
  while (results.size() < count) {
    engine_->Work(1000, -1);
    if (engine_->ReadyToMeasure()) engine_->Measure();
    for (TrialResult& result : engine_->TakeResults()) results.push_back(std::move(result));
  }
  return results;
}

std::map<uint64_t, Measurement> DeviceTest::Outcomes(size_t count) {
  std::map<uint64_t, Measurement> outcomes;
  for (TrialResult& result : Results(count)) {
    outcomes[result.uid.low] = std::move(result.measurement);
  }
  return outcomes;
}

TEST_P(DeviceTest, DescribesEachOfItsTargets) {
  Start();
  ASSERT_FALSE(engine_->targets().empty());
  const std::vector<worker::DeviceDescription> devices = engine_->Describe();
  ASSERT_EQ(devices.size(), engine_->targets().size());
  for (size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i].target, engine_->targets()[i].ToText());
    EXPECT_TRUE(devices[i].kind == "CPU" || devices[i].kind == "GPU") << devices[i].kind;
    EXPECT_GE(devices[i].devices, 1);
  }
}

TEST_P(DeviceTest, AGoodTrialIsTimed) {
  Start();
  Add(1);
  const TrialResult result = Results(1).front();
  EXPECT_EQ(result.measurement.outcome, Outcome::kOk) << result.measurement.detail;
  EXPECT_GT(result.measurement.median_ns, 0);
  EXPECT_GT(result.measurement.runs, 0);
  EXPECT_GT(result.measurement.build_ms, 0);
  ASSERT_TRUE(result.device_s);
  EXPECT_GT(*result.device_s, 0);
  EXPECT_EQ(engine_->held(), 0u);
}

TEST_P(DeviceTest, AWrongResultIsFoundAndIsItsOwn) {
  Start();
  Add(1);
  Add(2, kWrongKernel);
  Add(3);
  auto outcomes = Outcomes(3);
  EXPECT_EQ(outcomes[1].outcome, Outcome::kOk) << outcomes[1].detail;
  EXPECT_EQ(outcomes[2].outcome, Outcome::kWrongResult) << outcomes[2].detail;
  EXPECT_NE(outcomes[2].detail, "");
  EXPECT_EQ(outcomes[3].outcome, Outcome::kOk) << outcomes[3].detail;
}

TEST_P(DeviceTest, ACrashWhileMeasuringIsTheKernelsOwn) {
  if (!GetParam().has_crashing_kernels) GTEST_SKIP() << "no build of this device crashes there";
  Start();
  Add(1);
  Add(2, kCrashingKernel);
  Add(3);
  auto outcomes = Outcomes(3);
  EXPECT_EQ(outcomes[1].outcome, Outcome::kOk) << outcomes[1].detail;
  EXPECT_EQ(outcomes[2].outcome, Outcome::kRunError) << outcomes[2].detail;
  EXPECT_EQ(outcomes[3].outcome, Outcome::kOk) << outcomes[3].detail;
}

TEST_P(DeviceTest, TextThatIsNoConfigIsABuildError) {
  Start();
  Add(1, "no config: ");
  Add(2);
  auto outcomes = Outcomes(2);
  EXPECT_EQ(outcomes[1].outcome, Outcome::kBuildError) << outcomes[1].detail;
  EXPECT_EQ(outcomes[2].outcome, Outcome::kOk) << outcomes[2].detail;
  EXPECT_EQ(device_->tasks().size(), 1u) << "what is not built is not measured";
}

TEST_P(DeviceTest, ACrashOfTheBuildChildIsItsOwn) {
  Start();
  Add(1, kCrashingBuild);
  Add(2);
  auto outcomes = Outcomes(2);
  EXPECT_EQ(outcomes[1].outcome, Outcome::kBuildError);
  EXPECT_NE(outcomes[1].detail.find("the compiler ended with"), std::string::npos)
      << outcomes[1].detail;
  EXPECT_EQ(outcomes[2].outcome, Outcome::kOk) << outcomes[2].detail;
}

TEST_P(DeviceTest, ABuildThatHangsTimesOut) {
  Start(100);
  Add(1, kHangingBuild);
  const Measurement hung = Results(1).front().measurement;
  EXPECT_EQ(hung.outcome, Outcome::kBuildTimeout) << hung.detail;
  EXPECT_EQ(engine_->held(), 0u);
}

TEST_P(DeviceTest, WhatIsCancelledWhileItIsBuiltHasNoResult) {
  Start();
  Add(1);
  Add(2);
  engine_->Work(0, -1);  // starts the builds
  engine_->Cancel({0, 1});
  EXPECT_EQ(engine_->held(), 1u);
  EXPECT_EQ(Results(1).front().uid.low, 2u);
  EXPECT_TRUE(engine_->TakeResults().empty());
  EXPECT_EQ(device_->tasks(), std::vector<size_t>{1});
}

TEST_P(DeviceTest, WhatIsCancelledWhileItIsMeasuredHasNoResultAndTheNextOneHas) {
  Start();
  Add(1);
  while (engine_->held() > 0 && !engine_->ReadyToMeasure() && device_->busy(0) == 0) {
    engine_->Work(1000, -1);
  }
  ASSERT_EQ(engine_->held(), 1u);
  engine_->Cancel({0, 1});
  EXPECT_EQ(engine_->held(), 0u);
  Add(2);
  const TrialResult result = Results(1).front();
  EXPECT_EQ(result.uid.low, 2u);
  EXPECT_EQ(result.measurement.outcome, Outcome::kOk) << result.measurement.detail;
  EXPECT_TRUE(engine_->TakeResults().empty());
}

TEST_P(DeviceTest, TrialsOfOneSeedAreOneTaskWhereGroupsAreTimed) {
  Start();
  for (uint64_t uid = 1; uid <= 3; ++uid) Add(uid);
  Add(4, "", 8);
  EXPECT_EQ(Outcomes(4).size(), 4u);
  std::vector<size_t> tasks = device_->tasks();
  std::sort(tasks.begin(), tasks.end());
  const bool groups = device_->rules().most_together > 1;
  EXPECT_EQ(tasks, groups ? (std::vector<size_t>{1, 3}) : (std::vector<size_t>{1, 1, 1, 1}));
}

TEST_P(DeviceTest, ResultsOfOneSeedComeInTheOrderOfTheTrials) {
  Start();
  for (uint64_t uid = 1; uid <= 4; ++uid) Add(uid);
  std::vector<uint64_t> uids;
  for (const TrialResult& result : Results(4)) uids.push_back(result.uid.low);
  EXPECT_EQ(uids, (std::vector<uint64_t>{1, 2, 3, 4}));
}

TEST_P(DeviceTest, NothingIsLeftBehind) {
  const size_t before = OpenDescriptors();
  Start();
  Add(1);
  (void)Results(1);
  Add(2, "", 8);
  engine_->Work(0, -1);  // its build has begun
  EXPECT_EQ(engine_->held(), 1u);
  engine_.reset();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace mlc::testing
