// User-supplied kernels in the engine, with a driver that pretends (fake_cuda/): what they compute
// is what the driver is told to.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>

#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "worker/devices.h"

namespace mlc::worker {
namespace {

class UserKernelEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!build::Nvrtc::Open("").ok()) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
    auto gpus = FindGpus();
    ASSERT_TRUE(gpus.ok()) << gpus.status().ToString();
    if (!gpus->front().name.starts_with("Fake GPU")) GTEST_SKIP() << "a real driver is in the way";
  }

  static WorkerOptions Options(bool allowed) {
    WorkerOptions options;
    options.target = target::DetectHost(2);
    options.cpu = false;
    options.gpus = *FindGpus();
    options.gpus.resize(1);
    options.cuda_home = MLC_FAKE_CUDA;
    options.gpu_locks = ::testing::TempDir();
    options.run_timeout_ms = 2'000;
    options.allow_user_kernels = allowed;
    return options;
  }

  // What becomes of one trial. `image` is what the device does, whatever code it is given.
  static Measurement Run(const std::string& config, bool allowed, const char* image,
                         int64_t compiler_bytes = WorkerOptions().build_memory_bytes) {
    setenv("FAKE_IMAGE", image, 1);
    WorkerOptions options = Options(allowed);
    options.build_memory_bytes = compiler_bytes;
    auto engine = CreateEngine(options);
    unsetenv("FAKE_IMAGE");
    if (!engine.ok()) return Failed(Outcome::kInfra, engine.status().ToString());
    const std::string workload = graph::Workload::Parse(
                                     "workload v1 tolerance=1e-05 {\n%0 = input() : f32[1000]\n"
                                     "%1 = add(%0, %0) : f32[1000]\nreturn %1\n}\n")
                                     ->ToText();
    (*engine)->Add({{0, 1}, workload, config, 7, 0, 0});
    for (;;) {
      (*engine)->Work(100, -1);
      for (TrialResult& result : (*engine)->TakeResults()) return std::move(result.measurement);
    }
  }
  static std::string Config() {
    return schedule::UserKernel{
        "twice",
        "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
        "  out[threadIdx.x] = 2.0f * in[threadIdx.x];\n}\n",
        1, 1000, 0}
        .ToConfig()
        ->ToText();
  }
};

TEST_F(UserKernelEngine, AreCheckedAndTimedAsGeneratedOnesAre) {
  const Measurement right = Run(Config(), true, "right 1000");
  EXPECT_EQ(right.outcome, Outcome::kOk) << right.detail;
  EXPECT_EQ(right.median_ns, 5000);
  EXPECT_EQ(Run(Config(), true, "wrong 1000").outcome, Outcome::kWrongResult);
  EXPECT_EQ(Run(Config(), true, "race 1000").outcome, Outcome::kWrongResult);
  EXPECT_EQ(Run(Config(), true, "overrun 1000").outcome, Outcome::kWrongResult);
  EXPECT_EQ(Run(Config(), true, "illegal").outcome, Outcome::kRunError);
  EXPECT_EQ(Run(Config(), true, "hang").outcome, Outcome::kRunTimeout);
}

// Of a network of batch 128, the inputs of many workloads are mapped where a build child is forked.
TEST_F(UserKernelEngine, TheCompilerHasItsMemoryBesideWhatTheEngineHasMapped) {
  constexpr size_t kMapped = size_t{40} << 30;
  void* const mapped =
      mmap(nullptr, kMapped, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const Measurement right = Run(Config(), true, "right 1000");
  EXPECT_EQ(right.outcome, Outcome::kOk) << right.detail;
  munmap(mapped, kMapped);
}

TEST_F(UserKernelEngine, ACompilerWithoutMemoryIsTheMachinesTrouble) {
  if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "a sanitizer: no limits of memory";
  std::string source = "extern \"C\" __global__ void twice(const float* in, float* out) {\n";
  source += "  float s = in[threadIdx.x];\n";
  for (int i = 0; i < 4000; ++i) source += "  s = s * in[" + std::to_string(i % 900) + "];\n";
  const std::string config =
      schedule::UserKernel{"twice", source + "  out[threadIdx.x] = s;\n}\n", 1, 1000, 0}
          .ToConfig()
          ->ToText();
  for (const int64_t mib : {1, 8}) {
    const Measurement m = Run(config, true, "right 1000", mib << 20);
    EXPECT_EQ(m.outcome, Outcome::kInfra) << mib << " MiB: " << m.detail;
    EXPECT_NE(m.detail.find("out of memory"), std::string::npos) << m.detail;
  }
  EXPECT_EQ(Run(Config() + "x", true, "right 1000").outcome, Outcome::kBuildError);
}

TEST_F(UserKernelEngine, AreLaunchedAsTheySay) {
  const std::string config =
      schedule::UserKernel{"twice",
                           "extern \"C\" __global__ void twice(const float* in, float* out) {}\n",
                           {64, 8, 2},
                           {32, 4, 3},
                           100'000}
          .ToConfig()
          ->ToText();
  setenv("FAKE_LAUNCH", "64,8,2 32,4,3 100000", 1);
  const Measurement right = Run(config, true, "right 1000");
  EXPECT_EQ(right.outcome, Outcome::kOk) << right.detail;
  EXPECT_NE(Run(Config(), true, "right 1000").outcome, Outcome::kOk);
  unsetenv("FAKE_LAUNCH");
}

TEST_F(UserKernelEngine, AreRefusedWithoutTheFlagAndSayWhy) {
  for (const std::string& config : {Config(), "  " + Config(), "#\n" + Config()}) {
    const Measurement refused = Run(config, false, "right 1000");
    EXPECT_EQ(refused.outcome, Outcome::kInfra) << "no fault of the kernel";
    EXPECT_NE(refused.detail.find("started without --allow-user-kernels"), std::string::npos)
        << refused.detail;
  }
}

// There its author would be inside the process that drives it: no sandbox is between them.
TEST(UserKernelOnDevicesThatReachTheHost, IsRefusedAtTheStart) {
  setenv("FAKE_REACHES_HOST", "1", 1);
  const auto gpus = FindGpus();
  unsetenv("FAKE_REACHES_HOST");
  ASSERT_TRUE(gpus.ok()) << gpus.status().ToString();
  if (!gpus->front().name.starts_with("Fake GPU")) GTEST_SKIP() << "a real driver is in the way";
  EXPECT_TRUE(gpus->front().reaches_host);
  EXPECT_FALSE((*FindGpus()).front().reaches_host);
  WorkerOptions options;
  options.target = target::DetectHost(2);
  options.target.fma_gflops = 1;
  options.cpu = false;
  options.gpus = *gpus;
  options.cuda_home = MLC_FAKE_CUDA;
  options.gpu_locks = ::testing::TempDir();
  options.allow_user_kernels = true;
  const auto refused = CreateEngine(options);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  for (const char* word : {"--allow-user-kernels is refused", "Fake GPU 0", "uvm_disable_hmm=1",
                           "CUDA_VISIBLE_DEVICES", "--sandbox=off"}) {
    EXPECT_NE(refused.status().message().find(word), std::string::npos)
        << refused.status().message();
  }
  if (!build::Nvrtc::Open("").ok()) return;
  // Generated kernels are no risk, and a worker without a sandbox loses nothing by it.
  options.allow_user_kernels = false;
  EXPECT_TRUE(CreateEngine(options).ok());
  options.allow_user_kernels = true;
  options.sandbox = false;
  EXPECT_TRUE(CreateEngine(options).ok());
}

}  // namespace
}  // namespace mlc::worker
