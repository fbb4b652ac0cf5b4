// The sandbox of real GPU runners: around every thread of the driver, and with everything in it
// that CUDA and CUPTI need.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/support/worker/await.h"
#include "worker/build/built_kernel.h"
#include "worker/check/reference.h"
#include "worker/device/fleet/gpu_fleet.h"
#include "worker/devices.h"

namespace mlc::worker {
namespace {

namespace fs = std::filesystem;

constexpr int kElements = 1 << 16;
constexpr int kThreads = 256;

// At the same address in the runner, which is forked from here.
volatile float in_the_host = 1;

graph::Workload Doubled() {
  const std::string n = std::to_string(kElements);
  return *graph::Workload::Parse("workload v1 tolerance=1e-05 {\n%0 = input() : f32[" + n +
                                 "]\n%1 = add(%0, %0) : f32[" + n + "]\nreturn %1\n}\n");
}

std::string Field(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "";
}

class GpuSandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "no seccomp here, or a sanitizer";
    if (build::DetectSandbox().landlock_abi == 0) GTEST_SKIP() << "no landlock: GPUs are refused";
    auto gpus = FindGpus();
    if (!gpus.ok()) GTEST_SKIP() << "no CUDA device: " << gpus.status().message();
    auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    gpus->resize(1);
    gpus_ = *std::move(gpus);
    nvrtc_ = *std::move(nvrtc);
    GpuFleetOptions options;
    options.gpus = gpus_;
    options.threads = 2;
    options.lock_folder.clear();
    auto fleet = GpuFleet::Create(options, *nvrtc_);
    ASSERT_TRUE(fleet.ok()) << fleet.status().ToString();
    fleet_ = *std::move(fleet);
  }

  Measurement Run(const std::string& body) {
    const std::string source =
        "extern \"C\" __global__ void k_p0(const float* in, float* out, unsigned char* scratch, "
        "int* counters) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" +
        body + "\n}\n";
    const auto binary = nvrtc_->Compile(source, gpus_.front().target.gpu().CudaArch());
    EXPECT_TRUE(binary.ok()) << binary.status().ToString();
    BuiltKernel built;
    built.bindings = {{schedule::Binding::Kind::kOperand, 0},
                      {schedule::Binding::Kind::kOutput, 0}};
    built.device =
        DevicePart{binary->image, {{"k_p0", kElements / kThreads, kThreads, 0}}, 256, 64, {}};
    const auto set = SharedMemory::Create(ReferenceLayoutOf(Doubled()).bytes);
    EXPECT_TRUE(MakeReference(Doubled(), 3, set->bytes()).ok());
    const GpuTaskMessage task{Doubled().ToText(), {Encode(built)}, set->serial(), 0};
    fleet_->Submit(0, 1, task, set->descriptor());
    for (;;) {
      for (GpuFleet::Ended& ended : fleet_->Collect()) return ended.measurements.front();
      testing::AwaitNews(*fleet_);
    }
  }

  std::vector<GpuDevice> gpus_;
  std::unique_ptr<build::Nvrtc> nvrtc_;
  std::unique_ptr<GpuFleet> fleet_;
};

TEST_F(GpuSandbox, IsAroundEveryThreadOfTheRunner) {
  ASSERT_EQ(Run("out[i] = 2.0f * in[i];").outcome, Outcome::kOk);
  int runners = 0, threads = 0;
  for (const auto& process : fs::directory_iterator("/proc")) {
    const fs::path status = process.path() / "status";
    if (Field(status, "PPid") != std::to_string(getpid())) continue;
    ++runners;
    EXPECT_EQ(fs::read_symlink(process.path() / "fd/0"), "/dev/null");
    for (const auto& thread : fs::directory_iterator(process.path() / "task")) {
      ++threads;
      EXPECT_EQ(Field(thread.path() / "status", "Seccomp"), "2") << thread.path();
      EXPECT_EQ(Field(thread.path() / "status", "NoNewPrivs"), "1") << thread.path();
    }
  }
  EXPECT_EQ(runners, 1);
  printf("%d threads; kernels %s the memory of their process\n", threads,
         gpus_.front().reaches_host ? "reach" : "do not reach");
}

// What a user-supplied kernel would do with the address of something in its process.
TEST_F(GpuSandbox, WhereKernelsReachTheirProcessNoUserKernelRuns) {
  char address[32];
  std::snprintf(address, sizeof(address), "0x%llxull",
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(&in_the_host)));
  const Measurement tried = Run("if (i == 0) *(volatile float*)" + std::string(address) +
                                " = 7.0f;\nout[i] = 2.0f * in[i];");
  EXPECT_EQ(tried.outcome == Outcome::kOk, gpus_.front().reaches_host) << tried.detail;
  EXPECT_EQ(in_the_host, 1) << "a runner's memory is its own";
  EXPECT_EQ(Run("out[i] = 2.0f * in[i];").outcome, Outcome::kOk);
  WorkerOptions options;
  options.target = target::DetectHost(1);
  options.cpu = false;
  options.gpus = gpus_;
  options.cuda_home = MLC_SOURCE_DIR "/build/cuda";
  options.gpu_locks = ::testing::TempDir();
  options.allow_user_kernels = true;
  const auto engine = CreateEngine(options);
  EXPECT_EQ(engine.ok(), !gpus_.front().reaches_host) << engine.status().ToString();
}

}  // namespace
}  // namespace mlc::worker
