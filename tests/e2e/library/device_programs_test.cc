// mlc-compile, mlc-run and mlc-tune for GPUs, on a machine without one: with no driver at all, and
// with the driver that stands in for it.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "tests/e2e/models/run_program.h"
#include "tests/unit/graph/onnx/model_writer.h"

namespace mlc::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kCompile[] = MLC_BINARY_DIR "/bin/mlc-compile";
constexpr char kRun[] = MLC_BINARY_DIR "/bin/mlc-run";
constexpr char kTune[] = MLC_BINARY_DIR "/bin/mlc-tune";
// Where deploy/setup.sh puts NVRTC on machines without a toolkit.
constexpr char kCudaHome[] = MLC_SOURCE_DIR "/build/cuda";

class DevicePrograms : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = ::testing::TempDir() + "mlc_device_programs_" + std::to_string(getpid());
    fs::create_directories(root_);
    // Not the cache of whoever runs the tests.
    setenv("XDG_CACHE_HOME", (root_ + "/cache").c_str(), 1);
    WriteProduct(Model(), 16, 64, 32);
    compiled_ = Compile(
        {"--model", Model(), "--target", "h200", "--precision", "fp16", "-o", root_ + "/net"});
  }
  static void TearDownTestSuite() { fs::remove_all(root_); }

  // relu(x[m,k] w[k,n])
  static void WriteProduct(const std::string& path, int64_t m, int64_t k, int64_t n) {
    namespace wire = graph::onnx::wire;
    const std::vector<float> weights(static_cast<size_t>(k * n), 0.25f);
    wire::GraphParts parts;
    parts.nodes = {wire::Node("MatMul", {"x", "w"}, {"h"}), wire::Node("Relu", {"h"}, {"y"})};
    parts.initializers = {wire::FloatTensor("w", {k, n}, weights)};
    parts.inputs = {wire::FloatValue("x", {m, k})};
    parts.outputs = {wire::FloatValue("y", {m, n})};
    std::ofstream(path, std::ios::binary) << wire::Model(parts);
  }
  static std::vector<std::string> CompileCommand(std::vector<std::string> words) {
    words.insert(words.begin(), {kCompile, "--cuda-home", kCudaHome});
    return words;
  }
  static Finished Compile(std::vector<std::string> words) {
    return RunProgram(CompileCommand(std::move(words)));
  }
  static std::string Model() { return root_ + "/model.onnx"; }
  static Finished Emit(const std::string& stage) {
    return Compile(
        {"--model", Model(), "--target", "h200", "--precision", "fp16", "--emit", stage});
  }
  static Finished WithDriver(std::vector<std::string> command) {
    command.insert(command.begin(),
                   {"/usr/bin/env", "LD_LIBRARY_PATH=" MLC_BINARY_DIR "/tests/fake_cuda"});
    return RunProgram(command);
  }
  static bool HasDriver() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver != nullptr;
  }
  static bool HasCompiler() {
    return compiled_.output.find("no CUDA compiler") == std::string::npos;
  }

  static std::string root_;
  static Finished compiled_;
};

std::string DevicePrograms::root_;
Finished DevicePrograms::compiled_;

#define SKIP_WITHOUT_NVRTC() \
  if (!HasCompiler()) GTEST_SKIP() << compiled_.output

TEST_F(DevicePrograms, TheTargetIsChosenAndSaid) {
  const std::vector<std::string> words = {"--model", Model(), "--emit", "graph"};
  const Finished beside = WithDriver(CompileCommand(words));
  EXPECT_EQ(beside.exit_code, 0) << beside.output;
  EXPECT_THAT(beside.output, HasCompiler() ? HasSubstr("target: cuda (")
                                           : HasSubstr(" is there, but no CUDA compiler"));
  if (HasDriver()) GTEST_SKIP() << "this machine has a driver";
  const Finished without = Compile(words);
  EXPECT_EQ(without.exit_code, 0) << without.output;
  EXPECT_THAT(without.output,
              HasSubstr("target: cpu (no NVIDIA driver: libcuda.so.1 cannot be opened)"));
}

TEST_F(DevicePrograms, AModelIsCompiledWithoutAGpu) {
  SKIP_WITHOUT_NVRTC();
  ASSERT_EQ(compiled_.exit_code, 0) << compiled_.output;
  EXPECT_THAT(compiled_.output, AllOf(HasSubstr("for GPUs of sm_90a, and newer ones"),
                                      HasSubstr("untuned: default config")));
  std::ifstream lock(root_ + "/net/net.lock");
  std::string first, second;
  std::getline(lock, first);
  std::getline(lock, second);
  EXPECT_THAT(second, HasSubstr("target v1 cuda arch=sm_90a sms=132"));
  const Finished again = Compile({"--model", Model(), "--target", "h200", "--precision", "fp16",
                                  "--locked", root_ + "/net/net.lock", "-o", root_ + "/again"});
  EXPECT_EQ(again.exit_code, 0) << again.output;
  const Finished other = Compile({"--model", Model(), "--target", "h200", "--locked",
                                  root_ + "/net/net.lock", "-o", root_ + "/other"});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.output, HasSubstr("another model, --precision or version"));
}

// Pinned are instructions of sm_90a alone, and what newer GPUs run instead.
TEST_F(DevicePrograms, ALockFilePinsWhatNewerGpusRun) {
  SKIP_WITHOUT_NVRTC();
  const std::string model = root_ + "/large.onnx";
  WriteProduct(model, 256, 128, 192);
  const auto compile = [&](const std::string& folder, const std::string& lock) {
    std::vector<std::string> command = {
        "--model", model,    "--target", "h200", "--precision",
        "fp16",    "--name", "net",      "-o",   root_ + "/" + folder};
    if (!lock.empty()) command.insert(command.end(), {"--locked", root_ + "/" + lock});
    const Finished done = Compile(command);
    EXPECT_EQ(done.exit_code, 0) << done.output;
    return done.output;
  };
  const auto bytes = [](const std::string& file) {
    std::ifstream in(root_ + "/" + file, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  compile("usual", "");
  const std::string usual = bytes("usual/net.lock");
  const size_t family = usual.find("_contraction/");
  ASSERT_NE(family, std::string::npos) << usual;
  const size_t task = usual.rfind('\n', family) + 1, end = usual.find('\n', family) + 1;
  const size_t config = usual.rfind(' ', family) + 1;
  std::ofstream by_hand(root_ + "/by_hand.lock");
  by_hand << usual.substr(0, config)
          << "warpgroup_contraction/1 bm=64 bn=64 groups_m=1 groups_n=1 stages=2 pending=0 "
             "split=1 raster=0\n";
  if (!usual.substr(end).starts_with("newer ")) {
    by_hand << "newer " << usual.substr(task + 5, 32) << " " << usual.substr(config, end - config);
  }
  by_hand << usual.substr(end);
  by_hand.close();
  EXPECT_THAT(compile("large", "by_hand.lock"),
              HasSubstr("and newer ones, where 1 of 2 tasks have another kernel"));
  const std::string lock = bytes("large/net.lock");
  EXPECT_THAT(lock, AllOf(HasSubstr("mlc lock v1\n"), HasSubstr("\nnewer ")));
  compile("pinned", "large/net.lock");
  EXPECT_EQ(bytes("pinned/net.lock"), lock);
  EXPECT_EQ(bytes("pinned/libnet.so"), bytes("large/libnet.so"));
}

TEST_F(DevicePrograms, DeviceCodeIsCompiledOnce) {
  SKIP_WITHOUT_NVRTC();
  const std::string cubins = root_ + "/cubins";
  const auto compile = [&](const std::string& folder, const std::string& cache) {
    return Compile({"--model", Model(), "--target", "h200", "--precision", "fp16", "--verbose",
                    "--cubin-cache", cache, "-o", root_ + "/" + folder + "/net"});
  };
  const auto library = [&](const std::string& folder) {
    std::ifstream in(root_ + "/" + folder + "/net/libnet.so", std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  const Finished first = compile("first", cubins);
  ASSERT_EQ(first.exit_code, 0) << first.output;
  EXPECT_THAT(first.output, HasSubstr("device code: 0 of 4 from the cache " + cubins));
  EXPECT_THAT(compile("second", cubins).output, HasSubstr("device code: 4 of 4 from the cache"));
  EXPECT_EQ(library("second"), library("first"));
  for (const auto& file : fs::directory_iterator(cubins + "/libraries")) {
    fs::resize_file(file.path(), fs::file_size(file.path()) - 1);
  }
  EXPECT_THAT(compile("third", cubins).output, HasSubstr("device code: 0 of 4 from the cache"));
  EXPECT_EQ(library("third"), library("first"));
  const Finished off = compile("off", "off");
  EXPECT_THAT(off.output, HasSubstr("device code: 0 of 4 from the cache (off)"));
  EXPECT_EQ(library("off"), library("first"));
  const Finished unusable = compile("unusable", "/dev/null/cubins");
  EXPECT_EQ(unusable.exit_code, 0) << unusable.output;
  EXPECT_THAT(unusable.output, HasSubstr("the cache of device code is of no use: cannot make the "
                                         "folder /dev/null/cubins/libraries"));
  EXPECT_EQ(library("unusable"), library("first"));
  const Finished usual = Compile({"--model", Model(), "--target", "h200", "--precision", "fp16",
                                  "--verbose", "-o", root_ + "/usual"});
  EXPECT_THAT(usual.output, HasSubstr(" from the cache " + root_ + "/cache/mlc-tune/cubins/"));
}

TEST_F(DevicePrograms, EveryStageIsShown) {
  EXPECT_THAT(Emit("graph").output, HasSubstr("cast(%0) : f16[16,64]"));
  EXPECT_THAT(Emit("tasks").output, HasSubstr("workload v1 tolerance=0.004"));
  EXPECT_THAT(Emit("ir").output, HasSubstr("await_inputs"));
  EXPECT_THAT(Emit("cuda").output, HasSubstr("__global__"));
  const Finished llvm = Emit("llvm");
  EXPECT_EQ(llvm.exit_code, 65);
  EXPECT_THAT(llvm.output, HasSubstr("this target is a GPU: cuda or ptx"));
  SKIP_WITHOUT_NVRTC();
  EXPECT_THAT(Emit("ptx").output, HasSubstr(".target sm_90a"));
}

TEST_F(DevicePrograms, WithoutADriverTheReasonIsTold) {
  if (HasDriver()) GTEST_SKIP() << "there is a driver";
  const Finished compile = Compile({"--model", Model(), "--target", "cuda", "-o", root_ + "/none"});
  EXPECT_EQ(compile.exit_code, 69);
  EXPECT_THAT(compile.output, AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("h200")));
  for (const char* target : {"cuda", "h200"}) {
    const Finished tune = RunProgram({kTune, "--model", Model(), "--trials", "1", "--target",
                                      target, "--log", root_ + "/log.db"});
    EXPECT_EQ(tune.exit_code, 69);
    EXPECT_THAT(tune.output, AllOf(HasSubstr("no NVIDIA driver"), HasSubstr("--server ADDRESS"),
                                   HasSubstr("--target cpu"), Not(HasSubstr("h200"))));
  }
  SKIP_WITHOUT_NVRTC();
  const Finished run = RunProgram({kRun, root_ + "/net"});
  EXPECT_EQ(run.exit_code, 78);
  EXPECT_THAT(run.output, AllOf(HasSubstr("cannot open"), HasSubstr("no NVIDIA driver")));
}

TEST_F(DevicePrograms, TheGpuAtHandIsFound) {
  const Finished compile = WithDriver(CompileCommand(
      {"--model", Model(), "--target", "cuda:0", "--precision", "fp16", "--emit", "ir"}));
  EXPECT_EQ(compile.exit_code, 0) << compile.output;
  EXPECT_EQ(compile.output, Emit("ir").output) << "as for the known device of the same class";
  const Finished second =
      WithDriver(CompileCommand({"--model", Model(), "--target", "cuda:1", "-o", root_ + "/none"}));
  EXPECT_EQ(second.exit_code, 69);
  EXPECT_THAT(second.output, HasSubstr("there is no GPU 1; the driver shows 1"));
  const Finished unknown =
      WithDriver(CompileCommand({"--model", Model(), "--target", "gpu", "-o", root_ + "/none"}));
  EXPECT_EQ(unknown.exit_code, 65);
  EXPECT_THAT(unknown.output, HasSubstr("is not one of auto ("));
}

TEST_F(DevicePrograms, RunsTimesAndProfilesOnTheGpu) {
  SKIP_WITHOUT_NVRTC();
  const Finished run = WithDriver({kRun, root_ + "/net", "--bench", "0.05", "--profile"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr(", GPU 0, "), HasSubstr("graph launches in a row"),
                                HasSubstr("matmul 16x64 * 64x32")));
  const Finished json = WithDriver({kRun, root_ + "/net", "--bench", "0.05", "--json"});
  EXPECT_THAT(json.output, AllOf(HasSubstr("\"device\": 0"), HasSubstr("\"median\"")));
  const Finished missing = WithDriver({kRun, root_ + "/net", "--device", "7"});
  EXPECT_EQ(missing.exit_code, 65);
  EXPECT_THAT(missing.output, HasSubstr("there is no GPU 7"));
}

}  // namespace
}  // namespace mlc::testing
