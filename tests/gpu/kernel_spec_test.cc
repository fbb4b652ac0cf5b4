// A kernel with tunable parameters in CUDA C++, from its specification to a header: tuned on the
// GPU by mlc-tune --kernel, each config's result checked. The same specification in C goes the same
// way on the CPU, so that the test itself is tested without a GPU. Skips where there is no device
// or compiler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "compiler/build/c_compiler.h"
#include "compiler/build/nvrtc.h"
#include "compiler/schedule/cuda/user_kernel/tuned_kernel.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/crash/process.h"
#include "tests/temporary_folder.h"
#include "worker/device/fleet/gpu_devices.h"

namespace mlc {
namespace {

using ::testing::HasSubstr;

constexpr char kWorkload[] =
    "workload v1 tolerance=1e-06 {\n%0 = input() : f32[512,512]\n"
    "%1 = transpose(%0) {perm=[1,0]} : f32[512,512]\n%2 = copy(%1) : f32[512,512]\nreturn %2\n}\n";

// Of two values of `pad`, one gives a wrong result and one does not compile.
constexpr char kRefusal[] =
    "#if pad == 3\n#error three cells are too many\n#endif\n"
    "#define row (tile + pad)\n";
constexpr char kCuda[] =
    "extern \"C\" __global__ void turn(int n, const float* in, float* out) {\n"
    "  extern __shared__ float cells[];\n"
    "  const int x = blockIdx.x * tile, y = blockIdx.y * tile;\n"
    "  for (int i = threadIdx.y; i < tile; i += rows)\n"
    "    cells[i * row + threadIdx.x] = in[(y + i) * n + x + threadIdx.x];\n"
    "  __syncthreads();\n"
    "  for (int i = threadIdx.y; i < tile; i += rows)\n"
    "    out[(x + i) * n + y + threadIdx.x] = cells[threadIdx.x * row + i] + (pad == 2);\n}\n";
constexpr char kC[] =
    "void turn(int block_x, int block_y, int block_z, int n, const float* in, float* out) {\n"
    "  float cells[tile * row];\n"
    "  const int x = block_x * tile, y = block_y * tile + 0 * block_z * rows;\n"
    "  for (int i = 0; i < tile; ++i)\n"
    "    for (int j = 0; j < tile; ++j) cells[i * row + j] = in[(y + i) * n + x + j];\n"
    "  for (int i = 0; i < tile; ++i)\n"
    "    for (int j = 0; j < tile; ++j) out[(x + i) * n + y + j] = cells[j * row + i] + (pad == "
    "2);\n"
    "}\n";

constexpr int kConfigs = 24;

nlohmann::json Specification(bool cuda) {
  const auto parameter = [](const char* name, const char* values) {
    return nlohmann::json{{"Name", name}, {"Type", "int"}, {"Values", values}};
  };
  const auto vector = [](const char* name, const char* access) {
    return nlohmann::json{
        {"Name", name}, {"Type", "float"}, {"MemoryType", "Vector"}, {"AccessType", access}};
  };
  nlohmann::json kernel = {
      {"Language", cuda ? "CUDA" : "C"},
      {"KernelName", "turn"},
      {"Source", std::string(kRefusal) + (cuda ? kCuda : kC)},
      {"ProblemSize", nlohmann::json::array({512, 512})},
      {"GridDivX", nlohmann::json::array({"tile"})},
      {"GridDivY", nlohmann::json::array({"tile"})},
      {"LocalSize", {{"X", cuda ? "tile" : "1"}, {"Y", cuda ? "rows" : "1"}}},
      {"Workload", kWorkload},
      {"Arguments",
       {{{"Name", "n"}, {"Type", "int32"}, {"MemoryType", "Scalar"}, {"FillValue", 512}},
        vector("in", "ReadOnly"),
        vector("out", "WriteOnly")}}};
  if (cuda) kernel["SharedMemory"] = "tile * (tile + pad) * 4";
  return {{"ConfigurationSpace",
           {{"TuningParameters",
             {parameter("tile", "[16, 32]"), parameter("rows", "[4, 8, 16]"),
              parameter("pad", "[0, 1, 2, 3]")}}}},
          {"KernelSpecification", kernel}};
}

// Of this build, or beside the test programs of an unpacked bundle.
std::string Program(const std::string& name) {
  const std::string built = std::string(MLC_BINARY_DIR) + "/bin/" + name;
  if (std::filesystem::exists(built)) return built;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin" / name;
}

class SpecTest : public ::testing::Test {
 protected:
  // The exit code; what it prints is in the file `name`.
  int Run(const std::string& name, std::vector<std::string> words) const {
    words[0] = Program(words[0]);
    return crash::Wait(crash::Spawn(words, folder_.path(name)));
  }
  std::string Output(const std::string& file) const {
    std::ifstream in(folder_.path(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Tunes and checks every record; the header of the winner.
  void TuneAll(bool cuda, std::string* header) const;

  tests::TemporaryFolder folder_;
};

void SpecTest::TuneAll(bool cuda, std::string* header) const {
  std::ofstream(folder_.path("turn.json")) << Specification(cuda).dump();
  const std::string log = folder_.path("tuning.db");
  std::vector<std::string> words = {"mlc-tune",
                                    "--kernel",
                                    folder_.path("turn.json"),
                                    "--trials",
                                    std::to_string(kConfigs),
                                    "--log",
                                    log,
                                    "--quiet",
                                    "--cubin-cache",
                                    folder_.path("cubins")};
  if (!cuda) words.insert(words.end(), {"--threads", "1"});
  // 4: the space ended before the trials did.
  const int code = Run("tune", words);
  ASSERT_TRUE(code == 0 || code == 4) << code << Output("tune");
  const auto opened = db::OpenSqliteLogForReading(log);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  int right = 0, wrong = 0, broken = 0;
  const auto records = (*opened)->List({});
  ASSERT_TRUE(records.ok()) << records.status().message();
  for (const db::Record& r : *records) {
    SCOPED_TRACE(r.config.substr(0, 80) + " " + r.measurement.detail);
    if (r.config.find(" pad=3 ") != std::string::npos) {
      ++broken;
      EXPECT_EQ(r.measurement.outcome, Outcome::kBuildError);
      EXPECT_THAT(r.measurement.detail, HasSubstr("three cells are too many"));
    } else if (r.config.find(" pad=2 ") != std::string::npos) {
      ++wrong;
      EXPECT_EQ(r.measurement.outcome, Outcome::kWrongResult);
    } else {
      EXPECT_TRUE(r.measurement.outcome == Outcome::kOk ||
                  r.measurement.outcome == Outcome::kTooSlow);
      right += r.measurement.outcome == Outcome::kOk ? 1 : 0;
    }
  }
  EXPECT_GE(right, 2);
  EXPECT_GE(wrong, 1);
  EXPECT_GE(broken, 1);
  ASSERT_EQ(Run("header", {"mlc-log", "header", log, "turn"}), 0) << Output("header");
  *header = Output("header");
  EXPECT_THAT(*header, HasSubstr("#define tile "));
  EXPECT_THAT(*header, HasSubstr("#define rows "));
  EXPECT_TRUE(header->find("#define pad 0") != std::string::npos ||
              header->find("#define pad 1") != std::string::npos)
      << *header;
}

TEST_F(SpecTest, CudaIsTunedOnTheGpuAndItsWinnerIsAHeader) {
  const auto gpus = worker::FindGpus();
  if (!gpus.ok()) GTEST_SKIP() << "no CUDA device: " << gpus.status().message();
  std::string header;
  TuneAll(true, &header);
  if (HasFatalFailure()) return;
  // The winner's header makes the source a kernel of its author's program.
  const auto nvrtc = build::Nvrtc::Open("");
  ASSERT_TRUE(nvrtc.ok()) << nvrtc.status().message();
  const auto binary = (*nvrtc)->Compile(header + kRefusal + kCuda, "sm_80");
  EXPECT_TRUE(binary.ok()) << binary.status().message() << header;
}

TEST_F(SpecTest, TheSameInCOnTheCpu) {
  if (!build::FindCCompiler().ok()) GTEST_SKIP() << "no C compiler here";
  std::string header;
  TuneAll(false, &header);
}

// What a worker would compile of each config.
TEST_F(SpecTest, CudaCompilesInEveryConfigThatShould) {
  const auto nvrtc = build::Nvrtc::Open(MLC_SOURCE_DIR "/build/cuda");
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  auto spec = schedule::KernelSpec::Parse(Specification(true).dump());
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const auto kernel = schedule::TunedKernel::Open(*std::move(spec));
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  ASSERT_EQ(kernel->radix(), (std::vector<uint16_t>{2, 3, 4}));
  for (uint16_t tile = 0; tile < 2; ++tile) {
    for (uint16_t rows = 0; rows < 3; ++rows) {
      for (uint16_t pad = 0; pad < 4; ++pad) {
        const auto made = kernel->Instantiate(kernel->At({tile, rows, pad}));
        ASSERT_TRUE(made.ok()) << made.status().message();
        const auto binary = (*nvrtc)->Compile(made->source, "sm_90a");
        EXPECT_EQ(binary.ok(), pad < 3) << binary.status().message();
        if (!binary.ok()) continue;
        EXPECT_TRUE(build::CheckEntry(*binary, made->entry).ok()) << made->entry;
        EXPECT_EQ(made->block.x * made->block.y, (tile + 1) * 16 * (4 << rows));
        EXPECT_EQ(made->block_bytes, (tile + 1) * 16 * ((tile + 1) * 16 + pad) * 4);
      }
    }
  }
}

}  // namespace
}  // namespace mlc
