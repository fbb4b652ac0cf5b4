// The GPUs' runner children, their replacement and the engine's pipeline, with a driver that
// pretends (fake_cuda/).
#include "worker/device/fleet/gpu_fleet.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>

#include "base/process/child.h"
#include "tests/support/worker/await.h"
#include "tests/without_landlock.h"
#include "worker/build/built_kernel.h"
#include "worker/check/reference.h"
#include "worker/devices.h"
#include "worker/doctor/gpu_doctor.h"
#include "worker/local_trial.h"

namespace mlc::worker {
namespace {

constexpr char kHome[] = MLC_FAKE_CUDA;
// Where something hangs; what does not hang is done long before.
constexpr int64_t kHangMs = 4000;

class FakeNvrtc : public build::Nvrtc {
 public:
  std::string version() const override { return "0.0"; }
  std::string path() const override { return "nowhere"; }
  std::string options() const override { return ""; }
  Result<build::CudaBinary> Compile(const std::string& source, const std::string&) override {
    build::CudaBinary binary;
    binary.image = source.substr(0, 8);
    return binary;
  }
};

graph::Workload Doubled() {
  return *graph::Workload::Parse(
      "workload v1 tolerance=1e-05 {\n%0 = input() : f32[1000]\n%1 = add(%0, %0) : f32[1000]\n"
      "return %1\n}\n");
}

class FakeGpus : public ::testing::Test {
 protected:
  void SetUp() override {
    auto gpus = FindGpus();
    ASSERT_TRUE(gpus.ok()) << gpus.status().ToString();
    if (!gpus->front().name.starts_with("Fake GPU")) GTEST_SKIP() << "a real driver is in the way";
    gpus_ = *std::move(gpus);
    auto memory = SharedMemory::Create(ReferenceLayoutOf(Doubled()).bytes);
    ASSERT_TRUE(MakeReference(Doubled(), 3, memory->bytes()).ok());
    set_.emplace(*std::move(memory));
  }

  std::unique_ptr<GpuFleet> NewFleet(int64_t run_timeout_ms = 10'000,
                                     const std::string& lock_folder = "") {
    GpuFleetOptions options;
    options.gpus = gpus_;
    options.cuda_home = kHome;
    options.threads = 2;
    options.run_timeout_ms = run_timeout_ms;
    options.lock_folder = lock_folder;
    FakeNvrtc nvrtc;
    auto fleet = GpuFleet::Create(options, nvrtc);
    EXPECT_TRUE(fleet.ok()) << fleet.status().ToString();
    return fleet.ok() ? *std::move(fleet) : nullptr;
  }

  GpuTaskMessage Task(const std::string& image, double early_stop_ns = 0, int launches = 1) const {
    BuiltKernel built;
    built.bindings = {{schedule::Binding::Kind::kOperand, 0},
                      {schedule::Binding::Kind::kOutput, 0}};
    built.device = DevicePart{image, {}, 256, 64, {}};
    for (int i = 0; i < launches; ++i) built.device->launches.push_back({"k_p0", 4, 256, 0});
    return {Doubled().ToText(), {Encode(built)}, set_->serial(), early_stop_ns};
  }

  std::vector<Measurement> RunAll(GpuFleet& fleet, const GpuTaskMessage& task) const {
    fleet.Submit(0, 1, task, set_->descriptor());
    for (;;) {
      for (GpuFleet::Ended& ended : fleet.Collect()) return std::move(ended.measurements);
      testing::AwaitNews(fleet);
    }
  }
  Measurement Run(GpuFleet& fleet, const GpuTaskMessage& task) const {
    return RunAll(fleet, task).front();
  }

  std::vector<GpuDevice> gpus_;
  std::optional<SharedMemory> set_;
};

TEST_F(FakeGpus, EqualDevicesAreOneTargetWithMeasuredPeaks) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  ASSERT_EQ(fleet->targets().size(), 1u);
  // 20 copies of 256 MiB in 2.5 ms, as the fake driver's events say.
  EXPECT_NEAR(fleet->targets().front().copy_gbps, 2.0 * 20 * (1 << 28) / 2.5e6, 1);
}

TEST_F(FakeGpus, WithoutPeaksNothingWaitsForTheRunners) {
  GpuFleetOptions options;
  options.gpus = gpus_;
  options.cuda_home = kHome;
  options.lock_folder.clear();
  options.awaits_runners = false;
  FakeNvrtc nvrtc;
  const auto fleet = GpuFleet::Create(options, nvrtc);
  ASSERT_TRUE(fleet.ok()) << fleet.status().ToString();
  ASSERT_EQ((*fleet)->targets().size(), 1u);
  EXPECT_EQ((*fleet)->targets().front().copy_gbps, 0);
  EXPECT_GT((*fleet)->targets().front().fma_gflops, 0);
  // The first task waits for its runner.
  const Measurement m = Run(**fleet, Task("right 1000"));
  EXPECT_EQ(m.outcome, Outcome::kOk) << m.detail;
  EXPECT_EQ((*fleet)->targets().front().copy_gbps, 0);
  EXPECT_TRUE((*fleet)->StartFailure().ok());
}

TEST_F(FakeGpus, ARightKernelHasTheTimesOfItsRecords) {
  const auto fleet = NewFleet();
  const Measurement m = Run(*fleet, Task("right 1000"));
  ASSERT_EQ(m.outcome, Outcome::kOk) << m.detail;
  EXPECT_EQ(m.median_ns, 5000);
  EXPECT_EQ(m.cold_ns, 5000);
  EXPECT_EQ(m.runs, 20);
  EXPECT_EQ(m.clock_mhz, 2000);
  EXPECT_EQ(m.machine_speed, 1);
  const Measurement three = Run(*fleet, Task("right 1000", 0, 3));
  EXPECT_EQ(three.median_ns, 15000) << three.detail;
  const Measurement slow = Run(*fleet, Task("right 1000", 3000));
  EXPECT_EQ(slow.outcome, Outcome::kTooSlow);
  EXPECT_EQ(slow.median_ns, 5000);
}

TEST_F(FakeGpus, WhileNothingElseWaitsContendersGetMoreSamples) {
  const auto fleet = NewFleet();
  GpuTaskMessage task = Task("right 1000");
  task.may_take_more_samples = true;
  const Measurement alone = Run(*fleet, task);
  ASSERT_EQ(alone.outcome, Outcome::kOk) << alone.detail;
  EXPECT_GT(alone.runs, 20);
  EXPECT_LE(alone.runs, 200);
  EXPECT_GT(fleet->TakeMoreSeconds(), 0);
  EXPECT_EQ(fleet->TakeMoreSeconds(), 0);
  // One that is hurried ends, whenever the word comes, and the next one is not hurried by it.
  for (int i = 0; i < 5; ++i) {
    fleet->Submit(0, 1, task, set_->descriptor());
    fleet->StopExtraSamples(0);
    fleet->StopExtraSamples(0);
    while (fleet->Collect().empty()) testing::AwaitNews(*fleet);
    EXPECT_GT(Run(*fleet, task).runs, 20);
  }
  task.early_stop_ns = 3000;
  EXPECT_EQ(Run(*fleet, task).runs, 3) << "too slow";
}

TEST_F(FakeGpus, FailuresAreToldApartAndTheNextOneIsNotCharged) {
  const auto fleet = NewFleet(kHangMs);
  const struct {
    const char* image;
    Outcome outcome;
    const char* detail;
  } cases[] = {{"wrong 1000", Outcome::kWrongResult, "output 0: element [500] is 1e+06"},
               {"right 500", Outcome::kWrongResult, "output 0: element [500] is nan"},
               {"race 1000", Outcome::kWrongResult, "a race between its threads"},
               {"overrun 1000", Outcome::kWrongResult, "written past the end of output 0"},
               {"illegal", Outcome::kRunError, "CUDA_ERROR_ILLEGAL_ADDRESS"},
               {"crash", Outcome::kRunError, "ended with signal SIGABRT"},
               {"hang", Outcome::kRunTimeout, "no result after 4000 ms"},
               {"no image", Outcome::kBuildError, "loading device code"}};
  for (const auto& c : cases) {
    const Measurement bad = Run(*fleet, Task(c.image));
    EXPECT_EQ(bad.outcome, c.outcome) << c.image << ": " << bad.detail;
    EXPECT_NE(bad.detail.find(c.detail), std::string::npos) << bad.detail;
    const Measurement next = Run(*fleet, Task("right 1000"));
    EXPECT_EQ(next.outcome, Outcome::kOk) << c.image << ": " << next.detail;
  }
}

TEST_F(FakeGpus, SeveralKernelsHaveATimeEach) {
  const auto fleet = NewFleet();
  GpuTaskMessage task = Task("right 1000");
  task.built.push_back(Task("right 1000", 0, 3).built.front());
  const std::vector<Measurement> both = RunAll(*fleet, task);
  ASSERT_EQ(both.size(), 2u) << both.front().detail;
  EXPECT_EQ(both[0].median_ns, 5000);
  EXPECT_EQ(both[1].median_ns, 15000);
  EXPECT_GT(both[0].runs, 20);
}

TEST_F(FakeGpus, OneOfSeveralThatFailsLeavesTheOthersUntold) {
  const auto fleet = NewFleet(kHangMs);
  for (const char* image : {"wrong 1000", "crash", "hang"}) {
    GpuTaskMessage task = Task("right 1000");
    task.built.push_back(Task(image).built.front());
    const std::vector<Measurement> told = RunAll(*fleet, task);
    ASSERT_EQ(told.size(), 1u) << image;
    EXPECT_NE(told.front().outcome, Outcome::kOk);
    EXPECT_EQ(Run(*fleet, Task("right 1000")).outcome, Outcome::kOk) << image;
  }
}

TEST_F(FakeGpus, DevicesWorkSideBySide) {
  const auto fleet = NewFleet(kHangMs);
  EXPECT_TRUE(fleet->AllIdle());
  fleet->Submit(0, 7, Task("hang"), set_->descriptor());
  ASSERT_TRUE(fleet->HasIdle(0));
  fleet->Submit(0, 8, Task("right 1000"), set_->descriptor());
  EXPECT_FALSE(fleet->HasIdle(0));
  std::map<uint64_t, Outcome> results;
  std::vector<uint64_t> order;
  while (results.size() < 2) {
    for (GpuFleet::Ended& ended : fleet->Collect()) {
      results[ended.ticket] = ended.measurements.front().outcome;
      order.push_back(ended.ticket);
    }
    testing::AwaitNews(*fleet);
  }
  EXPECT_EQ(order.front(), 8u);
  EXPECT_EQ(results.at(7), Outcome::kRunTimeout);
  EXPECT_EQ(results.at(8), Outcome::kOk);
}

TEST_F(FakeGpus, WorkersOfOneHostTimeOnOneCardInTurns) {
  gpus_.resize(1);
  std::string folder = ::testing::TempDir() + "/gpu_locks_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto one = NewFleet(10'000, folder), other = NewFleet(10'000, folder);
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(one->Submit(0, 1, Task("right 1000"), set_->descriptor()));
  EXPECT_FALSE(other->Submit(0, 1, Task("right 1000"), set_->descriptor()));
  EXPECT_TRUE(other->waits());
  EXPECT_TRUE(other->AllIdle());
  while (one->Collect().empty()) testing::AwaitNews(*one);
  const bool taken = other->Submit(0, 1, Task("right 1000"), set_->descriptor());
  if (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(400)) {
    EXPECT_FALSE(taken) << "its turn lasts half a second";
  }
  while (taken && other->Collect().empty()) testing::AwaitNews(*other);
  one->Leave();
  EXPECT_EQ(Run(*other, Task("right 1000")).outcome, Outcome::kOk);
  EXPECT_FALSE(other->waits());
  std::filesystem::remove_all(folder);
}

TEST_F(FakeGpus, MissingCuptiIsAnErrorThatSaysWhatToInstall) {
  GpuFleetOptions options;
  options.gpus = gpus_;
  options.gpus.resize(1);
  // A library of that name that is no CUPTI.
  options.cuda_home = std::string(kHome) + "/broken";
  FakeNvrtc nvrtc;
  const auto fleet = GpuFleet::Create(options, nvrtc);
  EXPECT_EQ(fleet.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(fleet.status().message().find("install CUPTI of CUDA 12 or newer"), std::string::npos)
      << fleet.status().message();
}

// The engine is there before its GPU: the process that asked for it learns why it ends.
TEST_F(FakeGpus, WithoutPeaksAMissingCuptiEndsTheEngine) {
  if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
  WorkerOptions options;
  options.target = target::DetectHost(1);
  options.cpu = false;
  options.gpus = {gpus_.front()};
  options.cuda_home = std::string(kHome) + "/broken";
  options.gpu_locks = ::testing::TempDir();
  options.measures_gpu_peaks = false;
  auto engine = EngineProcess::Start([&] { return CreateEngine(options); }, 60'000);
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  Status end;
  while (end.ok()) {
    pollfd waiting = {(*engine)->fd(), POLLIN, 0};
    (void)poll(&waiting, 1, -1);
    end = (*engine)->Read().status();
  }
  EXPECT_EQ(end.code(), StatusCode::kFailedPrecondition);
  EXPECT_NE(end.message().find("GPU 0 (Fake GPU"), std::string::npos) << end.message();
  EXPECT_NE(end.message().find("install CUPTI of CUDA 12 or newer"), std::string::npos)
      << end.message();
}

// What seccomp alone leaves open is every file of the worker's user.
TEST_F(FakeGpus, WithoutLandlockTheEngineRefusesThemUnlessItIsTold) {
  if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "no seccomp here, or a sanitizer";
  const auto say = [&](bool sandbox, bool lenient) {
    WorkerOptions options;
    options.target = target::DetectHost(1);
    options.cpu = false;
    options.gpus = {gpus_.front()};
    options.cuda_home = kHome;
    options.gpu_locks = ::testing::TempDir();
    options.sandbox = sandbox;
    options.lenient = lenient;
    Child::Options child;
    child.limits.memory_bytes = 0;
    child.limits.open_files = 4096;
    child.limits.sandbox = false;
    Result<Child> asked = Child::Start(child, [&](int pipe) {
      if (!testing::TakeLandlockAway()) return;
      const auto engine = CreateEngine(options);
      WriteAll(pipe, engine.ok() ? "it serves" : engine.status().message());
    });
    testing::AwaitEnd(*asked);
    return asked->received();
  };
  const std::string refused = say(true, false);
  EXPECT_NE(refused.find("no landlock: a process that drives a GPU could write every file"),
            std::string::npos)
      << refused;
  if (!build::Nvrtc::Open("").ok()) return;
  EXPECT_EQ(say(true, true), "it serves");
  EXPECT_EQ(say(false, false), "it serves");
}

TEST_F(FakeGpus, LocksThatCannotBeHadAreSaid) {
  const std::string folder = ::testing::TempDir() + "/gpu_lock_links_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink("/etc/passwd", folder + "/mlc-gpu-" + gpus_[0].uuid + ".lock");
  gpus_.resize(1);
  const auto fleet = NewFleet(10'000, folder);
  ASSERT_NE(fleet, nullptr);
  const std::string warning = fleet->TakeWarning();
  EXPECT_NE(warning.find("no turns are taken with other workers of this host"), std::string::npos);
  EXPECT_NE(warning.find("it is a symbolic link"), std::string::npos) << warning;
  EXPECT_EQ(fleet->TakeWarning(), "");
  EXPECT_EQ(Run(*fleet, Task("right 1000")).outcome, Outcome::kOk);
  std::filesystem::remove_all(folder);
}

// A kernel whose code has the runner's process, and makes it send without end.
TEST_F(FakeGpus, ARunnerThatSendsWithoutEndIsReplaced) {
  const auto fleet = NewFleet(kHangMs);
  const Measurement bad = Run(*fleet, Task("flood"));
  EXPECT_EQ(bad.outcome, Outcome::kRunError) << bad.detail;
  EXPECT_NE(bad.detail.find("sent no result"), std::string::npos) << bad.detail;
  EXPECT_EQ(Run(*fleet, Task("right 1000")).outcome, Outcome::kOk);
}

TEST_F(FakeGpus, TheEngineServesCpuAndGpus) {
  if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
  WorkerOptions options;
  options.target = target::DetectHost(2);
  options.target.fma_gflops = 1;
  options.builders = 2;
  options.gpus = gpus_;
  options.cuda_home = kHome;
  options.gpu_locks = ::testing::TempDir();
  auto engine = CreateEngine(options);
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  ASSERT_EQ((*engine)->targets().size(), 2u);
  EXPECT_EQ((*engine)->Describe()[0].kind, "CPU");
  EXPECT_EQ((*engine)->Describe()[1].kind, "GPU");
  const std::string workload = Doubled().ToText();
  const std::string on_cpu = *DefaultConfig(workload, (*engine)->targets()[0]);
  const std::string on_gpu = *DefaultConfig(workload, (*engine)->targets()[1]);
  (*engine)->Add({{0, 1}, workload, on_cpu, 7, 0, 0});
  (*engine)->Add({{0, 2}, workload, on_gpu, 7, 0, 1});
  (*engine)->Add({{0, 3}, workload, on_gpu, 7, 0, 1});
  (*engine)->Add({{0, 4}, workload, "nonsense", 7, 0, 1});
  (*engine)->Add({{0, 5}, workload, on_gpu, 7, 0, 9});
  (*engine)->Add({{0, 6}, workload, on_gpu, 7, 0, 1});
  (*engine)->Cancel({0, 6});
  std::map<uint64_t, Measurement> results;
  double gpus_s = 0;
  while (results.size() < 5) {
    (*engine)->Work(100, -1);
    if ((*engine)->ReadyToMeasure()) (*engine)->Measure();
    for (TrialResult& r : (*engine)->TakeResults()) {
      ASSERT_TRUE(r.device_s);
      if (r.uid.low >= 2 && r.uid.low <= 4) gpus_s += *r.device_s;
      results[r.uid.low] = std::move(r.measurement);
    }
  }
  EXPECT_GT(gpus_s, 0);
  EXPECT_EQ(results.at(1).outcome, Outcome::kOk) << results.at(1).detail;
  // The fake device does nothing with real code.
  for (uint64_t i : {2, 3}) {
    EXPECT_EQ(results.at(i).outcome, Outcome::kWrongResult) << results.at(i).detail;
    EXPECT_NE(results.at(i).detail.find("is nan instead of"), std::string::npos);
    EXPECT_GT(results.at(i).build_ms, 0);
  }
  EXPECT_EQ(results.at(4).outcome, Outcome::kBuildError);
  EXPECT_EQ(results.at(5).outcome, Outcome::kInfra);
  EXPECT_EQ((*engine)->held(), 0u);
  EXPECT_NE((*engine)->Use().text.find("timed); idle: "), std::string::npos);
}

TEST_F(FakeGpus, TheEngineCompilesADeviceKernelOnce) {
  if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
  const std::string folder = ::testing::TempDir() + "/engine_cubins_" + std::to_string(getpid());
  std::filesystem::remove_all(folder);
  WorkerOptions options;
  options.target = target::DetectHost(2);
  options.cpu = false;
  options.builders = 2;
  options.gpus = gpus_;
  options.cuda_home = kHome;
  options.gpu_locks = ::testing::TempDir();
  options.cubin_cache = folder;
  auto engine = CreateEngine(options);
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  const std::string workload = Doubled().ToText();
  const std::string config = *DefaultConfig(workload, (*engine)->targets()[0]);
  for (uint64_t i = 0; i < 3; ++i) {
    (*engine)->Add({{0, i}, workload, config, 7, 0, 0});
    std::vector<TrialResult> results;
    while (results.empty()) {
      (*engine)->Work(100, -1);
      results = (*engine)->TakeResults();
    }
    // The same code, whoever compiled it: the fake device does nothing with it.
    EXPECT_EQ(results[0].measurement.outcome, Outcome::kWrongResult);
    EXPECT_NE(results[0].measurement.detail.find("is nan instead of"), std::string::npos);
  }
  EXPECT_NE((*engine)->Use().text.find("; 2 of 3 kernels from the cache"), std::string::npos)
      << (*engine)->Use().text;
  EXPECT_NE(
      DiagnoseGpus(kHome, folder).report.find("cache of device code: " + folder + ", 1 files"),
      std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_F(FakeGpus, TheEngineFillsTheGpusIdleTimeWithSamples) {
  if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
  // Whatever code is loaded computes the right result.
  setenv("FAKE_IMAGE", "right 1000", 1);
  gpus_.resize(1);
  WorkerOptions options;
  options.target = target::DetectHost(2);
  options.cpu = false;
  options.gpus = gpus_;
  options.cuda_home = kHome;
  options.gpu_locks = ::testing::TempDir();
  auto engine = CreateEngine(options);
  unsetenv("FAKE_IMAGE");
  ASSERT_TRUE(engine.ok()) << engine.status().ToString();
  const std::string workload = Doubled().ToText();
  const std::string config = *DefaultConfig(workload, (*engine)->targets()[0]);
  (*engine)->Add({{0, 1}, workload, config, 7, 0, 0});
  std::vector<TrialResult> results;
  while (results.empty()) {
    (*engine)->Work(100, -1);
    results = (*engine)->TakeResults();
  }
  EXPECT_EQ(results[0].measurement.outcome, Outcome::kOk) << results[0].measurement.detail;
  EXPECT_GT(results[0].measurement.runs, 20) << "nothing else was there to be timed";
  EXPECT_NE((*engine)->Use().text.find("% with more samples) of"), std::string::npos)
      << (*engine)->Use().text;
}

TEST_F(FakeGpus, TheDoctorDescribesEachCard) {
  const Diagnosis diagnosis = DiagnoseGpus(kHome, "");
  EXPECT_NE(diagnosis.report.find("cache of device code: off"), std::string::npos);
  EXPECT_NE(diagnosis.report.find("GPU 1: Fake GPU 1 at 0000:01:00.0, 8.0 GiB"), std::string::npos)
      << diagnosis.report;
  EXPECT_NE(diagnosis.report.find("warn  clocks: no NVML"), std::string::npos) << diagnosis.report;
  if (!build::Nvrtc::Open("").ok()) return;
  EXPECT_TRUE(diagnosis.usable);
  EXPECT_NE(diagnosis.report.find("kernel records (CUPTI): ready, copies at"), std::string::npos)
      << diagnosis.report;
}

}  // namespace
}  // namespace mlc::worker
