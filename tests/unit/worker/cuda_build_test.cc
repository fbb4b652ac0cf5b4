// Builds for CUDA devices in sandboxed build children, where the CUDA compiler is installed; no
// device is needed.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/process/child.h"
#include "base/sandbox/sandbox.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "tests/support/worker/await.h"
#include "worker/build/built_kernel.h"
#include "worker/device/cuda/service_kernels.h"
#include "worker/local_trial.h"

namespace mlc::worker {
namespace {

constexpr char kTarget[] =
    "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560 fma_gflops=60000.0 "
    "tensor_gflops=800000.0 copy_gbps=4300.0";

// The compiler, warmed up as the engine does before it forks.
build::Nvrtc* Compiler() {
  static const std::unique_ptr<build::Nvrtc> nvrtc = [] {
    auto opened = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
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
  static Result<BuiltKernel> BuildInChild(const std::string& workload, const std::string& config,
                                          bool allow_user_kernels = false) {
    const target::Target target = *target::Target::Parse(kTarget);
    Child::Options options;
    Result<Child> child = Child::Start(options, [&](int pipe) {
      const Result<BuiltKernel> built = BuildKernel(
          workload, config, target, {Compiler(), target::DetectHost(1), allow_user_kernels});
      WriteAll(pipe, built.ok() ? "+" + Encode(*built) : "-" + built.status().message());
    });
    if (!child.ok()) return child.status();
    testing::AwaitEnd(*child);
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

TEST_F(CudaBuild, TheSandboxLetsTheCompilerWork) {
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

std::string Doubled() {
  return graph::Workload::Parse(
             "workload v1 tolerance=1e-04 {\n%0 = input() : f32[1024]\n"
             "%1 = add(%0, %0) : f32[1024]\nreturn %1\n}\n")
      ->ToText();
}

std::string RawConfig(const std::string& entry, const std::string& source) {
  return schedule::UserKernel{entry, source, 4, 256, 0}.ToConfig()->ToText();
}

TEST_F(CudaBuild, AUserKernelIsBuiltWhereItIsAllowed) {
  const std::string config = RawConfig(
      "twice",
      "__device__ float doubled(float x) { return 2.0f * x; }\n"
      "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  out[i] = doubled(in[i]);\n}\n");
  const Result<BuiltKernel> built = BuildInChild(Doubled(), config, true);
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  ASSERT_TRUE(built->device.has_value());
  EXPECT_EQ(built->device->image.substr(1, 3), "ELF");
  ASSERT_EQ(built->device->launches.size(), 1u);
  EXPECT_EQ(built->device->launches[0].function, "twice");
  EXPECT_EQ(built->device->launches[0].grid, target::Dim3(4));
  EXPECT_EQ(built->device->launches[0].block, target::Dim3(256));
  EXPECT_EQ(built->bindings.size(), 2u);
  EXPECT_EQ(built->device->workspace_bytes + built->device->counter_bytes, 0);
  // However a server writes it.
  for (const std::string& text : {config, " " + config, "# no\n" + config, "\t\n" + config,
                                  std::string("user_kernel/1"), std::string("user_kernel/9 a=1")}) {
    const Result<BuiltKernel> refused = BuildInChild(Doubled(), text);
    EXPECT_NE(refused.status().message().find("started without --allow-user-kernels"),
              std::string::npos)
        << refused.status().message();
  }
}

// Longer than a mebibyte's half, and with three extents.
TEST_F(CudaBuild, ALongKernelWithThreeExtentsIsBuiltForEveryDevice) {
  std::string source =
      "extern __shared__ float room[];\n"
      "extern \"C\" __global__ void twice(const float* in, float* out) {\n"
      "  const int i = ((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) *\n"
      "    (blockDim.x * blockDim.y * blockDim.z) +\n"
      "    (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;\n"
      "  room[i % 32] = in[i];\n  __syncthreads();\n  out[i] = 2.0f * room[i % 32];\n}\n";
  for (int i = 0; source.size() < 900'000; ++i) {
    source += "__device__ inline float f" + std::to_string(i) + "(float x) { return x * " +
              std::to_string(i) + ".5f; }\n";
  }
  const std::string config =
      schedule::UserKernel{"twice", source, {2, 2, 2}, {8, 4, 4}, 65536}.ToConfig()->ToText();
  EXPECT_TRUE(config.starts_with("user_kernel/1 "));
  const Result<BuiltKernel> built = BuildInChild(Doubled(), config, true);
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  EXPECT_EQ(built->device->launches[0].grid, target::Dim3(2, 2, 2));
  EXPECT_EQ(built->device->launches[0].block, target::Dim3(8, 4, 4));
  EXPECT_EQ(built->device->launches[0].block_bytes, 65536);
  const Result<build::CudaBinary> older = Compiler()->Compile(source, "sm_80");
  ASSERT_TRUE(older.ok()) << older.status().ToString();
  EXPECT_TRUE(build::CheckEntry(*older, "twice").ok());
}

TEST_F(CudaBuild, ErrorsOfAUserKernelAreExplained) {
  const auto why = [](const std::string& entry, const std::string& source) {
    return BuildInChild(Doubled(), RawConfig(entry, source), true).status().message();
  };
  const std::string plain = "extern \"C\" __global__ void k(float* p) { p[0] = 1; }\n// other\n";
  EXPECT_NE(
      why("other", plain).find("no function 'other' that is extern \"C\" __global__; it has k"),
      std::string::npos)
      << why("other", plain);
  EXPECT_NE(why("k", "__global__ void k(float* p) { p[0] = 1; }\n").find("it has _Z1kPf"),
            std::string::npos);
  EXPECT_NE(why("k", "__device__ void k(float* p) { p[0] = 1; }\n").find("it has none at all"),
            std::string::npos);
  const std::string refused = why("k", plain + "int x = nothing;\n");
  EXPECT_NE(refused.find("nothing"), std::string::npos) << refused;
}

// What the compiler says in a build child of a source that no family would print.
std::string CompileInChild(const std::string& source, int cpu_seconds = 60) {
  Child::Options options;
  options.limits.cpu_seconds = cpu_seconds;
  Result<Child> child = Child::Start(options, [&](int pipe) {
    const auto compiled = Compiler()->Compile(source, "sm_90a");
    WriteAll(pipe, compiled.ok() ? "+" + compiled->image : "-" + compiled.status().message());
  });
  if (!child.ok()) return child.status().message();
  testing::AwaitEnd(*child);
  const int end = child->Reap();
  return child->received().empty() ? DescribeEnd(end) : child->received();
}

TEST_F(CudaBuild, ASourceReadsNoFile) {
  if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "no seccomp here, or a sanitizer";
  const std::string folder = ::testing::TempDir();
  const std::string secret = folder + "/cuda-secret";
  std::ofstream(secret) << "#error keep me\n";
  const std::string fifo = folder + "/cuda-fifo";
  (void)unlink(fifo.c_str());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  constexpr char kKernel[] = "\nextern \"C\" __global__ void k() {}\n";
  for (const std::string& path : {secret, fifo, std::string("/dev/zero"), std::string("/dev/stdin"),
                                  std::string("/proc/self/environ"), std::string("/etc/shadow")}) {
    const std::string said = CompileInChild("#include \"" + path + "\"" + kKernel);
    EXPECT_TRUE(said.starts_with("-")) << path << ": " << said.substr(0, 500);
    EXPECT_EQ(said.find("keep me"), std::string::npos) << said;
    EXPECT_EQ(said.find("root:"), std::string::npos) << said;
  }
  // Nor does it find out what is there.
  const std::string there =
      CompileInChild("#if __has_include(\"" + secret + "\")\n#error it is there\n#endif" + kKernel);
  EXPECT_EQ(there.find("it is there"), std::string::npos) << there;
  EXPECT_TRUE(CompileInChild(kKernel).starts_with("+"));
  (void)unlink(fifo.c_str());
  (void)unlink(secret.c_str());
}

TEST_F(CudaBuild, ASourceThatNeverEndsIsEnded) {
  if (!build::DetectSandbox().seccomp) GTEST_SKIP() << "no seccomp here, or a sanitizer";
  const std::string templates =
      "template <int N, long M> struct T { T<N - 1, 2 * M> a; T<N - 1, 2 * M + 1> b; };\n"
      "template <long M> struct T<0, M> { int a; };\n"
      "extern \"C\" __global__ void k(int* p) { p[0] = sizeof(T<26, 1>); }\n";
  const std::string loop =
      "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i ^ s; return s; "
      "}\n"
      "extern \"C\" __global__ void k(long* p) { constexpr long v = f(1000000000000L); p[0] = v; "
      "}\n";
  const std::string deep =
      "extern \"C\" __global__ void k(int* p) { p[0] = " + std::string(200'000, '(') + "1" +
      std::string(200'000, ')') + "; }\n";
  for (const std::string& source : {templates, loop, deep}) {
    const std::string said = CompileInChild(source, 3);
    EXPECT_FALSE(said.starts_with("+")) << source.substr(0, 200);
    printf("%s\n", said.substr(0, 100).c_str());
  }
}

TEST(CudaToolchain, WithoutACompilerTheBuildSaysSo) {
  const target::Target target = *target::Target::Parse(kTarget);
  const Result<BuiltKernel> built =
      CompileForDevice(schedule::LoweredKernel{}, target, CudaToolchain{});
  EXPECT_EQ(built.status().message(), "this worker has no CUDA compiler");
}

}  // namespace
}  // namespace mlc::worker
