// The GPU runner on a real device: times, and every way in which a trial can fail, with
// user-supplied kernels. Skips where there is no device.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "compiler/build/nvrtc.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "tests/support/worker/await.h"
#include "worker/build/built_kernel.h"
#include "worker/check/reference.h"
#include "worker/device/fleet/gpu_fleet.h"

namespace mlc::worker {
namespace {

constexpr int64_t kElements = int64_t{1} << 20;
constexpr int kThreads = 256;

graph::Workload Doubled() {
  const std::string n = std::to_string(kElements);
  return *graph::Workload::Parse("workload v1 tolerance=1e-05 {\n%0 = input() : f32[" + n +
                                 "]\n%1 = add(%0, %0) : f32[" + n + "]\nreturn %1\n}\n");
}

// A kernel over all elements; `body` sees in, out, i and the count n.
std::string Source(const std::string& body) {
  return "extern \"C\" __global__ void k_p0(const float* in, float* out, unsigned char* scratch, "
         "int* counters) {\n  const long long n = " +
         std::to_string(kElements) +
         ";\n  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n" + body +
         "\n}\n";
}

const std::string kRight = Source("out[i] = 2.0f * in[i];");

// Devices and compiler of this machine, made once.
struct Machine {
  std::string missing;  // empty: everything is there
  std::vector<GpuDevice> gpus;
  std::unique_ptr<build::Nvrtc> nvrtc;

  static Machine& Get() {
    static Machine machine = Find();
    return machine;
  }
  static Machine Find() {
    Machine machine;
    Result<std::vector<GpuDevice>> gpus = FindGpus();
    Result<std::unique_ptr<build::Nvrtc>> nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
    if (!gpus.ok()) {
      machine.missing = "no CUDA device: " + gpus.status().message();
    } else if (!nvrtc.ok()) {
      machine.missing = nvrtc.status().message();
    } else {
      machine.gpus = *std::move(gpus);
      machine.nvrtc = *std::move(nvrtc);
    }
    return machine;
  }
};

class GpuRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Machine::Get().missing.empty()) GTEST_SKIP() << Machine::Get().missing;
  }

  std::unique_ptr<GpuFleet> NewFleet(size_t gpus = 1, int64_t run_timeout_ms = 10'000) {
    GpuFleetOptions options;
    options.gpus = Machine::Get().gpus;
    options.gpus.resize(gpus);
    options.threads = 4;
    options.run_timeout_ms = run_timeout_ms;
    options.lock_folder.clear();
    // For hosts whose driver does not work in the sandbox.
    const char* sandbox = std::getenv("MLC_TEST_SANDBOX");
    options.sandbox = sandbox == nullptr || std::string_view(sandbox) != "off";
    auto fleet = GpuFleet::Create(options, *Machine::Get().nvrtc);
    EXPECT_TRUE(fleet.ok()) << fleet.status().ToString();
    return fleet.ok() ? *std::move(fleet) : nullptr;
  }

  GpuTaskMessage Task(const std::string& source, const SharedMemory& set, double early_stop_ns = 0,
                      const std::vector<codegen::CudaLaunch>& launches = {
                          {"k_p0", kElements / kThreads, kThreads, 0}}) {
    const std::string arch = Machine::Get().gpus.front().target.gpu().CudaArch();
    const Result<build::CudaBinary> binary = Machine::Get().nvrtc->Compile(source, arch);
    EXPECT_TRUE(binary.ok()) << binary.status().ToString();
    BuiltKernel built;
    built.bindings = {{schedule::Binding::Kind::kOperand, 0},
                      {schedule::Binding::Kind::kOutput, 0}};
    built.device = DevicePart{binary->image, launches, 256, 64, {}};
    return {Doubled().ToText(), {Encode(built)}, set.serial(), early_stop_ns};
  }

  SharedMemory Set() {
    const graph::Workload workload = Doubled();
    auto memory = SharedMemory::Create(ReferenceLayoutOf(workload).bytes);
    EXPECT_TRUE(MakeReference(workload, 3, memory->bytes()).ok());
    return *std::move(memory);
  }

  std::vector<Measurement> RunAll(GpuFleet& fleet, const GpuTaskMessage& task,
                                  const SharedMemory& set) {
    fleet.Submit(0, 1, task, set.descriptor());
    for (;;) {
      for (GpuFleet::Ended& ended : fleet.Collect()) return std::move(ended.measurements);
      testing::AwaitNews(fleet);
    }
  }
  Measurement Run(GpuFleet& fleet, const GpuTaskMessage& task, const SharedMemory& set) {
    return RunAll(fleet, task, set).front();
  }
};

TEST_F(GpuRunnerTest, ARightKernelHasATime) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  for (int round = 0; round < 3; ++round) {
    const Measurement m = Run(*fleet, Task(kRight, set), set);
    ASSERT_EQ(m.outcome, Outcome::kOk) << m.detail;
    // 8 MB move, at no more than 20 TB/s and no less than 0.2.
    EXPECT_GT(m.median_ns, 400);
    EXPECT_LT(m.median_ns, 40'000);
    EXPECT_GT(m.cold_ns, 0);
    EXPECT_GE(m.runs, 3);
    EXPECT_GT(m.clock_mhz, 200);
    EXPECT_EQ(m.max_error, 0);
    printf("median %.2f us (p10 %.2f, p90 %.2f), cold %.2f us, %.0f MHz, machine speed %.2f %s\n",
           m.median_ns / 1e3, m.p10_ns / 1e3, m.p90_ns / 1e3, m.cold_ns / 1e3, m.clock_mhz,
           m.machine_speed, m.detail.c_str());
  }
  EXPECT_GT(fleet->targets().front().copy_gbps, 100);
  printf("%s\n", fleet->targets().front().ToText().c_str());
}

// From its config, as a lease brings it: without scratch and counters among its parameters.
TEST_F(GpuRunnerTest, AUserKernelIsBuiltCheckedAndTimed) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  const auto run = [&](const std::string& body) {
    const schedule::UserKernel user_kernel{
        "twice",
        "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
        "  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n" +
            body + "\n}\n",
        kElements / kThreads, kThreads, 65536};
    const CudaToolchain tools{Machine::Get().nvrtc.get(), target::DetectHost(1), true};
    const Result<BuiltKernel> built =
        BuildKernel(Doubled().ToText(), user_kernel.ToConfig()->ToText(),
                    Machine::Get().gpus.front().target, tools);
    EXPECT_TRUE(built.ok()) << built.status().ToString();
    return Run(*fleet, {Doubled().ToText(), {Encode(*built)}, set.serial(), 0}, set);
  };
  const Measurement right = run("out[i] = 2.0f * in[i];");
  EXPECT_EQ(right.outcome, Outcome::kOk) << right.detail;
  EXPECT_GT(right.median_ns, 400);
  EXPECT_EQ(run("out[i] = 3.0f * in[i];").outcome, Outcome::kWrongResult);
  EXPECT_EQ(run("out[i + 1] = 2.0f * in[i];").outcome, Outcome::kWrongResult);
}

// Every thread and block along every extent has its part, through all of more on-chip memory than a
// kernel has without asking, in a source of half a mebibyte.
TEST_F(GpuRunnerTest, AUserKernelHasThreeExtents) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  const target::Dim3 grid{16, 32, 8}, block{8, 4, 8};
  constexpr int64_t kBlockBytes = 100'000;
  std::string source =
      "extern __shared__ float room[];\n"
      "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
      "  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
      "  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
      "  const int i = block * blockDim.x * blockDim.y * blockDim.z + thread;\n"
      "  room[25000 - 1 - thread] = in[i];\n  __syncthreads();\n"
      "  out[i] = FACTOR * room[25000 - 1 - thread];\n}\n";
  for (int i = 0; source.size() < 500'000; ++i) {
    source += "// " + std::to_string(i * 2654435761LL) + "\n";
  }
  const CudaToolchain tools{Machine::Get().nvrtc.get(), target::DetectHost(1), true};
  const auto run = [&](const std::string& factor, const target::Dim3& blocks) {
    const schedule::UserKernel user_kernel{"twice", "#define FACTOR " + factor + "\n" + source,
                                           blocks, block, kBlockBytes};
    const Result<BuiltKernel> built =
        BuildKernel(Doubled().ToText(), user_kernel.ToConfig()->ToText(),
                    Machine::Get().gpus.front().target, tools);
    EXPECT_TRUE(built.ok()) << built.status().ToString();
    return Run(*fleet, {Doubled().ToText(), {Encode(*built)}, set.serial(), 0}, set);
  };
  const Measurement right = run("2.0f", grid);
  EXPECT_EQ(right.outcome, Outcome::kOk) << right.detail;
  EXPECT_EQ(right.max_error, 0);
  printf("median %.2f us\n", right.median_ns / 1e3);
  EXPECT_EQ(run("3.0f", grid).outcome, Outcome::kWrongResult);
  EXPECT_EQ(run("2.0f", {grid.x, grid.y, grid.z - 1}).outcome, Outcome::kWrongResult);
}

TEST_F(GpuRunnerTest, TheTimesOfSeveralLaunchesAdd) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  const Measurement one = Run(*fleet, Task(kRight, set), set);
  const codegen::CudaLaunch launch{"k_p0", kElements / kThreads, kThreads, 0};
  const Measurement three = Run(*fleet, Task(kRight, set, 0, {launch, launch, launch}), set);
  ASSERT_EQ(three.outcome, Outcome::kOk) << three.detail;
  EXPECT_GT(three.median_ns, 2 * one.median_ns);
}

TEST_F(GpuRunnerTest, SeveralKernelsAreTimedInTurns) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  GpuTaskMessage task = Task(kRight, set);
  const codegen::CudaLaunch launch{"k_p0", kElements / kThreads, kThreads, 0};
  task.built.push_back(Task(kRight, set, 0, {launch, launch, launch}).built.front());
  task.built.push_back(task.built.front());
  const std::vector<Measurement> all = RunAll(*fleet, task, set);
  ASSERT_EQ(all.size(), 3u) << all.front().detail;
  for (const Measurement& m : all) {
    EXPECT_EQ(m.outcome, Outcome::kOk) << m.detail;
    EXPECT_GT(m.runs, 20);
    printf("median %.2f us (p10 %.2f, p90 %.2f)\n", m.median_ns / 1e3, m.p10_ns / 1e3,
           m.p90_ns / 1e3);
  }
  EXPECT_GT(all[1].median_ns, 2 * all[0].median_ns);
  EXPECT_LT(all[2].median_ns, 1.5 * all[0].median_ns);
  task.built[2] = Task(Source("if (i != 77) out[i] = 2.0f * in[i];"), set).built.front();
  EXPECT_EQ(RunAll(*fleet, task, set).size(), 1u) << "one that fails leaves the others untold";
  EXPECT_EQ(Run(*fleet, Task(kRight, set), set).outcome, Outcome::kOk);
}

TEST_F(GpuRunnerTest, SlowKernelsStopEarly) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  const Measurement m = Run(*fleet, Task(kRight, set, 100), set);
  EXPECT_EQ(m.outcome, Outcome::kTooSlow);
  EXPECT_GT(m.median_ns, 130);
}

TEST_F(GpuRunnerTest, FailuresAreToldApartAndTheNextOneIsNotCharged) {
  const auto fleet = NewFleet(1, 3'000);
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  struct Case {
    std::string source;
    Outcome outcome;
    std::string detail;
  };
  const Case cases[] = {
      {Source("out[i] = i == 12345 ? 0.5f : 2.0f * in[i];"), Outcome::kWrongResult,
       "output 0: element [12345] is 0.5"},
      {Source("if (i != 77) out[i] = 2.0f * in[i];"), Outcome::kWrongResult,
       "output 0: element [77] is nan"},
      {Source("out[i] = 2.0f * in[i]; if (i == 0) out[n] = 1.0f;"), Outcome::kWrongResult,
       "written past the end of output 0"},
      {Source("out[i] = 2.0f * in[i]; if (i == 0) out[-1] = 1.0f;"), Outcome::kWrongResult,
       "written before the beginning of output 0"},
      {Source("out[i] = 2.0f * in[i] + ((clock64() >> 4) & 1 ? 1e-7f : 0.0f);"),
       Outcome::kWrongResult, "two executions on the same inputs differ"},
      {Source("float* nowhere = (float*)8; nowhere[i] = in[i];"), Outcome::kRunError,
       "CUDA_ERROR_"},
      {Source("out[i] = 2.0f * in[i]; if (i == 0) asm volatile(\"trap;\");"), Outcome::kRunError,
       "CUDA_ERROR_"},
      {Source("volatile float* wait = out; while (wait[0] != 42.0f) {} out[i] = 2.0f * in[i];"),
       Outcome::kRunTimeout, "no result after 3000 ms"},
  };
  for (const Case& c : cases) {
    const auto start = std::chrono::steady_clock::now();
    const Measurement bad = Run(*fleet, Task(c.source, set), set);
    const double taken =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_EQ(bad.outcome, c.outcome) << c.source << bad.detail;
    EXPECT_NE(bad.detail.find(c.detail), std::string::npos) << bad.detail;
    EXPECT_LT(taken, 30) << "the watchdog bounds every trial";
    const Measurement next = Run(*fleet, Task(kRight, set), set);
    EXPECT_EQ(next.outcome, Outcome::kOk) << next.detail;
    printf("%-12s %.2f s  %s\n", std::string(ToText(bad.outcome)).c_str(), taken,
           bad.detail.c_str());
  }
}

TEST_F(GpuRunnerTest, CodeForAnotherDeviceIsABuildError) {
  const auto fleet = NewFleet();
  ASSERT_NE(fleet, nullptr);
  const SharedMemory set = Set();
  GpuTaskMessage task = Task(kRight, set);
  Result<BuiltKernel> built = Decode(task.built.front(), Doubled());
  built->device->image = "no image";
  task.built = {Encode(*built)};
  const Measurement m = Run(*fleet, task, set);
  EXPECT_EQ(m.outcome, Outcome::kBuildError);
  EXPECT_NE(m.detail.find("CUDA_ERROR_INVALID_IMAGE"), std::string::npos) << m.detail;
}

TEST_F(GpuRunnerTest, ASecondGpuWorksBesideTheFirst) {
  if (Machine::Get().gpus.size() < 2) GTEST_SKIP() << "this machine has one GPU";
  const auto fleet = NewFleet(2);
  ASSERT_NE(fleet, nullptr);
  ASSERT_EQ(fleet->targets().size(), 1u) << "equal devices are one target";
  const SharedMemory set = Set();
  fleet->Submit(0, 1, Task(kRight, set), set.descriptor());
  ASSERT_TRUE(fleet->HasIdle(0));
  fleet->Submit(0, 2, Task(kRight, set), set.descriptor());
  EXPECT_FALSE(fleet->HasIdle(0));
  std::map<uint64_t, Measurement> results;
  while (results.size() < 2) {
    for (GpuFleet::Ended& ended : fleet->Collect()) {
      results[ended.ticket] = std::move(ended.measurements.front());
    }
    testing::AwaitNews(*fleet);
  }
  EXPECT_EQ(results.at(1).outcome, Outcome::kOk) << results.at(1).detail;
  EXPECT_EQ(results.at(2).outcome, Outcome::kOk) << results.at(2).detail;
}

}  // namespace
}  // namespace mlc::worker
