#include "worker/devices.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>

#include "worker/local_trial.h"
#include "worker/measure/calibration.h"

namespace mlc::worker {
namespace {

constexpr char kMatMul[] =
    "workload v1 tolerance=1e-04 {\n%0 = input() : f32[32,48]\n%1 = weight() : f32[48,64]\n"
    "%2 = matmul(%0, %1) : f32[32,64]\nreturn %2\n}\n";

std::string Canonical(const char* text) { return graph::Workload::Parse(text)->ToText(); }

WorkerOptions Options() {
  WorkerOptions options;
  options.target = target::DetectHost(2);
  options.target.fma_gflops = 1;  // given: not measured
  options.builders = 2;
  return options;
}

std::unique_ptr<Engine> NewEngine(WorkerOptions options = Options()) {
  auto engine = CreateEngine(options);
  EXPECT_TRUE(engine.ok()) << engine.status().ToString();
  return *std::move(engine);
}

std::map<uint64_t, Measurement> RunAll(Engine& engine, size_t count) {
  std::map<uint64_t, Measurement> results;
  while (results.size() < count) {
    for (TrialResult& result : engine.TakeResults()) {
      results[result.uid.low] = std::move(result.measurement);
    }
    if (results.size() == count) break;
    engine.Work(1000, -1);
    if (engine.ReadyToMeasure()) engine.Measure();
  }
  return results;
}

TEST(Engine, EveryTrialHasItsOutcome) {
  auto engine = NewEngine();
  const std::string workload = Canonical(kMatMul);
  const std::string config = *DefaultConfig(workload, engine->target());
  engine->Add({{0, 1}, workload, config, 7, 0});
  engine->Add({{0, 2}, workload, "unknown/1 a=1", 7, 0});
  engine->Add({{0, 3}, workload, "not a config", 7, 0});
  engine->Add({{0, 4}, "not a workload", config, 7, 0});
  engine->Add({{0, 5}, workload, config, 8, 1e-3});
  std::map<uint64_t, Measurement> results = RunAll(*engine, 5);
  EXPECT_EQ(results[1].outcome, Outcome::kOk) << results[1].detail;
  EXPECT_GT(results[1].build_ms, 0);
  EXPECT_LE(results[1].max_error, 1e-4);
  EXPECT_EQ(results[2].outcome, Outcome::kInfra) << "another build's family";
  EXPECT_NE(results[2].detail.find("unknown"), std::string::npos) << results[2].detail;
  EXPECT_EQ(results[3].outcome, Outcome::kBuildError);
  EXPECT_EQ(results[4].outcome, Outcome::kBuildError);
  EXPECT_EQ(results[5].outcome, Outcome::kTooSlow);
  EXPECT_EQ(engine->held(), 0u);
}

TEST(Engine, TellsWhatTrialsCostAndNoMoreThanHasPassed) {
  auto engine = NewEngine();
  const std::string workload = Canonical(kMatMul);
  const std::string config = *DefaultConfig(workload, engine->target());
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t n = 1; n <= 3; ++n) engine->Add({{0, n}, workload, config, 7, 0});
  engine->Add({{0, 4}, workload, "not a config", 7, 0});
  double reported_s = 0;
  for (int results = 0; results < 4;) {
    engine->Work(1000, -1);
    if (engine->ReadyToMeasure()) engine->Measure();
    for (const TrialResult& result : engine->TakeResults()) {
      ASSERT_TRUE(result.device_s);
      EXPECT_GE(*result.device_s, result.measurement.median_ns * 1e-9);
      EXPECT_EQ(result.measurement.device_ms, 1e3 * *result.device_s);
      reported_s += *result.device_s;
      ++results;
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(reported_s, passed.count());
}

TEST(Engine, CancelledTrialsHaveNoResult) {
  auto engine = NewEngine();
  const std::string workload = Canonical(kMatMul);
  const std::string config = *DefaultConfig(workload, engine->target());
  engine->Add({{0, 1}, workload, config, 7, 0});
  engine->Add({{0, 2}, workload, config, 7, 0});
  engine->Work(0, -1);  // starts the builds
  engine->Cancel({0, 1});
  EXPECT_EQ(engine->held(), 1u);
  const auto results = RunAll(*engine, 1);
  EXPECT_EQ(results.begin()->first, 2u);
  EXPECT_TRUE(engine->TakeResults().empty());
}

TEST(Engine, BuildsThatTakeTooLongEnd) {
  WorkerOptions options = Options();
  options.build_timeout_ms = 0;
  auto engine = NewEngine(std::move(options));
  const std::string workload = Canonical(kMatMul);
  engine->Add({{0, 1}, workload, *DefaultConfig(workload, engine->target()), 7, 0});
  const auto results = RunAll(*engine, 1);
  EXPECT_EQ(results.at(1).outcome, Outcome::kBuildTimeout);
  EXPECT_EQ(results.at(1).detail, "no kernel after 0 ms");
}

// As the inputs of large workloads are: gibibytes that every child inherits.
TEST(Engine, WhatTheParentHasMappedIsNoneOfACompilersMemory) {
  constexpr size_t kMapped = size_t{40} << 30;
  void* const mapped =
      mmap(nullptr, kMapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto engine = NewEngine();
  const std::string workload = Canonical(kMatMul);
  engine->Add({{0, 1}, workload, *DefaultConfig(workload, engine->target()), 7, 0});
  const auto results = RunAll(*engine, 1);
  EXPECT_EQ(results.at(1).outcome, Outcome::kOk) << results.at(1).detail;
  munmap(mapped, kMapped);
}

// Comparing takes many times the memory of an output, as those of large batches are.
TEST(Engine, LargeOutputsAreCompared) {
  if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "a sanitizer: no limits of memory";
  auto engine = NewEngine();
  const std::string workload = Canonical(
      "workload v1 tolerance=1e-04 {\n%0 = input() : f32[72,1024,1024]\n"
      "%1 = constant(){value=0.0} : f32[]\n%2 = max(%0, %1) : f32[72,1024,1024]\n"
      "return %2\n}\n");
  engine->Add({{0, 1}, workload, *DefaultConfig(workload, engine->target()), 7, 0});
  const auto results = RunAll(*engine, 1);
  EXPECT_EQ(results.at(1).outcome, Outcome::kOk) << results.at(1).detail;
}

TEST(Engine, SaysWhatToDoWhereThreadsHaveTooLittleTime) {
  const target::Target target = target::DetectHost(2);
  const std::string kernels = *BuildProbeKernels(target);
  const Result<MachineProbe> probe = MachineProbe::Create(kernels, target);
  ASSERT_TRUE(probe.ok());
  build::ChildWork work = CalibrationWork(2);
  EXPECT_TRUE(MeasurePeaks(*probe, work, true).ok());
  work.ms = 0;
  const Status status = MeasurePeaks(*probe, work, true).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.ToString();
  EXPECT_TRUE(status.message().starts_with("give fewer threads (--threads N)"))
      << status.ToString();
}

TEST(Engine, MeasuresThePeaksOfAnUnknownMachine) {
  WorkerOptions options = Options();
  options.target.fma_gflops = 0;
  auto engine = NewEngine(std::move(options));
  EXPECT_GT(engine->target().fma_gflops, 1);
  EXPECT_GT(engine->target().copy_gbps, 0.1);
}

TEST(Engine, SelfTestPasses) {
  auto engine = NewEngine();
  const Status status = SelfTest(*engine);
  EXPECT_TRUE(status.ok()) << status.ToString();
}

}  // namespace
}  // namespace mlc::worker
