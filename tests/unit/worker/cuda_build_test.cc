// Builds for CUDA devices in fenced build children, where the CUDA compiler is installed; no device
// is needed.
#include <gtest/gtest.h>
#include <unistd.h>

#include "worker/built_kernel.h"
#include "worker/child.h"
#include "worker/gpu/service_kernels.h"
#include "worker/local_trial.h"

namespace mlc::worker {
namespace {

constexpr char kTarget[] =
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000.0 "
    "tensor_gflops=800000.0 copy_gbps=4300.0";

// The compiler, warmed up as the engine does before it forks.
build::Nvrtc* Compiler() {
  static const std::unique_ptr<build::Nvrtc> nvrtc = [] {
    auto opened = build::Nvrtc::Open("");
    if (!opened.ok()) return std::unique_ptr<build::Nvrtc>();
    EXPECT_TRUE((*opened)->Compile(std::string(ServiceSource()), "sm_90a").ok());
    return *std::move(opened);
  }();
  return nvrtc.get();
}

class CudaBuild : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Compiler() == nullptr) GTEST_SKIP() << "no CUDA compiler (NVRTC) here";
  }

  // What BuildKernel gives in a build child.
  static Result<BuiltKernel> BuildInChild(const std::string& workload, const std::string& config) {
    const target::Target target = *target::Target::Parse(kTarget);
    Child::Options options;
    options.limits.memory_bytes += int64_t{2} << 30;
    Result<Child> child = Child::Start(options, [&](int pipe) {
      const Result<BuiltKernel> built =
          BuildKernel(workload, config, target, {Compiler(), target::DetectHost(1)});
      WriteAll(pipe, built.ok() ? "+" + Encode(*built) : "-" + built.status().message());
    });
    if (!child.ok()) return child.status();
    while (child->Read()) usleep(500);
    const int end = child->Reap();
    if (child->received().empty()) return Internal(DescribeEnd(end) + " " + child->ErrorText());
    if (child->received()[0] != '+') return InvalidArgument(child->received().substr(1));
    return Decode(child->received().substr(1), *graph::Workload::Parse(workload));
  }
};

TEST_F(CudaBuild, TheServiceKernelsCompileForEveryDevice) {
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_90a"}) {
    const Result<build::CudaBinary> built = Compiler()->Compile(std::string(ServiceSource()), arch);
    ASSERT_TRUE(built.ok()) << arch << built.status().ToString();
    EXPECT_TRUE(built->performance_warnings.empty());
  }
}

TEST_F(CudaBuild, TheFenceLetsTheCompilerWork) {
  const std::string workload = graph::Workload::Parse(
                                   "workload v1 tolerance=1e-04 {\n%0 = input() : f32[64,4096]\n"
                                   "%1 = constant(){value=0.0} : f32[]\n"
                                   "%2 = max(%0, %1) : f32[64,4096]\nreturn %2\n}\n")
                                   ->ToText();
  const Result<std::string> config = DefaultConfig(workload, *target::Target::Parse(kTarget));
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  for (int i = 0; i < 3; ++i) {
    const Result<BuiltKernel> built = BuildInChild(workload, *config);
    ASSERT_TRUE(built.ok()) << built.status().ToString();
    ASSERT_TRUE(built->device.has_value());
    EXPECT_EQ(built->device->image.substr(1, 3), "ELF");
    EXPECT_FALSE(built->device->launches.empty());
    EXPECT_TRUE(built->object.empty()) << "nothing is prepared on the host";
    printf("built in %.1f ms, %zu bytes\n", built->build_ms, built->device->image.size());
  }
}

TEST_F(CudaBuild, ATextThatIsNoConfigIsRefused) {
  const Result<BuiltKernel> built = BuildInChild(
      "workload v1 tolerance=1e-04 {\n%0 = input() : f32[8]\n%1 = add(%0, %0) : f32[8]\n"
      "return %1\n}\n",
      "nonsense");
  EXPECT_EQ(built.status().code(), StatusCode::kInvalidArgument);
}

TEST(CudaToolchain, WithoutACompilerTheBuildSaysSo) {
  const target::Target target = *target::Target::Parse(kTarget);
  const Result<BuiltKernel> built =
      CompileForDevice(schedule::LoweredKernel{}, target, CudaToolchain{});
  EXPECT_EQ(built.status().message(), "this worker has no CUDA compiler");
}

}  // namespace
}  // namespace mlc::worker
