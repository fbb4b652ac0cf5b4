// mlc-compile and mlc-run as their users call them: exit codes, messages, files, reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/e2e/models/run_program.h"

namespace mlc::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kCompile[] = MLC_BINARY_DIR "/bin/mlc-compile";
constexpr char kRun[] = MLC_BINARY_DIR "/bin/mlc-run";
constexpr char kModel[] = MLC_REDUCED_MODELS "/resnet18.onnx";
constexpr char kMerging[] = MLC_REDUCED_MODELS "/bert_base.onnx";
constexpr char kOther[] = MLC_REDUCED_MODELS "/gpt2.onnx";

std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Programs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = ::testing::TempDir() + "mlc_programs_" + std::to_string(getpid());
    fs::create_directories(root_);
    if (!fs::exists(kModel)) return;
    const Finished log =
        RunProgram({MLC_BINARY_DIR "/tests/write_log", In("full.db"), "2", kModel});
    ASSERT_EQ(log.exit_code, 0) << log.output;
    const Finished empty = RunProgram({MLC_BINARY_DIR "/tests/write_log", In("empty.db"), "2"});
    ASSERT_EQ(empty.exit_code, 0) << empty.output;
    const Finished made = Compile({"--log", In("full.db"), "-o", In("net")});
    ASSERT_EQ(made.exit_code, 0) << made.output;
  }
  static void TearDownTestSuite() { fs::remove_all(root_); }
  void SetUp() override {
    if (!fs::exists(kModel)) {
      GTEST_SKIP() << "no reduced models: no Python with the packages onnx and numpy was found";
    }
  }

  static std::string In(const std::string& name) { return root_ + "/" + name; }
  static Finished Compile(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kCompile, "--model", kModel, "--threads", "2"});
    return RunProgram(arguments);
  }
  static Finished Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), kRun);
    return RunProgram(arguments);
  }

  inline static std::string root_;
};

TEST_F(Programs, CompileWritesTheLibraryAndItsPapers) {
  for (const char* name :
       {"libnet.so", "libnet.a", "net.h", "mlc_model.h", "net.lock", "report.txt", "report.json"}) {
    EXPECT_TRUE(fs::exists(In("net") + "/" + name)) << name;
  }
  const Json report = Json::parse(ReadBytes(In("net/report.json")));
  EXPECT_EQ(report["schema"], "mlc.compile/1");
  EXPECT_GT(report["arena_bytes"], 0);
  EXPECT_GE(report["unshared_bytes"], report["arena_bytes"]);
  ASSERT_GT(report["tasks"].size(), 5u);
  double total = 0;
  for (const Json& task : report["tasks"]) {
    EXPECT_EQ(task["tuned"], true);
    EXPECT_EQ(task["expected_us"], 2.0);
    total += 2e-3 * task["occurrences"].get<double>();
  }
  EXPECT_NEAR(report["expected_ms"].get<double>(), total, 1e-9);
}

TEST_F(Programs, SizeBeyondTheWeightsIsSmall) {
  const Json report = Json::parse(ReadBytes(In("net/report.json")));
  const auto size = static_cast<int64_t>(fs::file_size(In("net/libnet.so")));
  EXPECT_LT(size - report["weights_bytes"].get<int64_t>(), 2 << 20);
}

TEST_F(Programs, RequireTunedTellsWhatIsMissing) {
  EXPECT_EQ(Compile({"--log", In("full.db"), "--require-tuned", "-o", In("tuned")}).exit_code, 0);
  const Finished without =
      Compile({"--log", In("empty.db"), "--require-tuned", "-o", In("untuned")});
  EXPECT_EQ(without.exit_code, 3);
  EXPECT_THAT(without.output, HasSubstr("--require-tuned: the log has no usable record for"));
  EXPECT_THAT(without.output, HasSubstr("run mlc-tune --model"));
  EXPECT_FALSE(fs::exists(In("untuned")));
  const Finished untuned = Compile({"--log", In("empty.db"), "-o", In("untuned")});
  EXPECT_EQ(untuned.exit_code, 0) << untuned.output;
  EXPECT_THAT(untuned.output, HasSubstr("tasks are untuned and use a default config"));
  const Finished locked =
      Compile({"--locked", In("untuned/untuned.lock"), "--require-tuned", "-o", In("x")});
  EXPECT_EQ(locked.exit_code, 3);
  EXPECT_THAT(locked.output, HasSubstr("the lock file has no usable record for"));
}

TEST_F(Programs, LockFileGivesTheSameBytes) {
  const std::string lock = In("net/net.lock");
  const Finished again = Compile({"--locked", lock, "--name", "net", "-o", In("again")});
  ASSERT_EQ(again.exit_code, 0) << again.output;
  for (const char* name : {"libnet.so", "libnet.a", "net.h", "net.lock"}) {
    EXPECT_TRUE(ReadBytes(In("net") + "/" + name) == ReadBytes(In("again") + "/" + name)) << name;
  }
}

// The three projections of attention: one product, or apart where the log knows that to be faster.
TEST_F(Programs, ProductsAreMergedUnlessTheLogKnowsBetter) {
  const auto write = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), MLC_BINARY_DIR "/tests/write_log");
    const Finished log = RunProgram(arguments);
    ASSERT_EQ(log.exit_code, 0) << log.output;
  };
  const auto compile = [](const std::string& folder, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {kCompile, "--model", kMerging, "--threads", "2",
                                         "--require-tuned", "--name", "net", "-o", In(folder)});
    return RunProgram(arguments);
  };
  const auto expected = [](const std::string& folder) {
    return Json::parse(ReadBytes(In(folder + "/report.json")))["expected_ms"].get<double>();
  };
  write({In("merged.db"), "2", kMerging});
  const Finished merged = compile("merged", {"--log", In("merged.db")});
  ASSERT_EQ(merged.exit_code, 0) << merged.output;
  EXPECT_THAT(merged.output, Not(HasSubstr("stay apart")));
  // Three of 1500 ns are slower than one of 2000.
  write({In("slow.db"), "2", kMerging});
  write({In("slow.db"), "2", "--apart", "1500", kMerging});
  const Finished slow = compile("slow", {"--log", In("slow.db")});
  EXPECT_EQ(ReadBytes(In("slow/libnet.so")), ReadBytes(In("merged/libnet.so"))) << slow.output;
  // Three of 500 ns are faster.
  write({In("fast.db"), "2", kMerging});
  write({In("fast.db"), "2", "--apart", "500", kMerging});
  const Finished fast = compile("fast", {"--log", In("fast.db")});
  EXPECT_THAT(fast.output, HasSubstr("products of one value stay apart: "));
  EXPECT_LT(expected("fast"), expected("merged"));
  const Finished apart =
      compile("apart", {"--log", In("fast.db"), "--skip-pass", "merge_siblings"});
  EXPECT_EQ(ReadBytes(In("fast/libnet.so")), ReadBytes(In("apart/libnet.so"))) << apart.output;
  // A lock file pins the variant, too.
  const Finished locked = compile("locked", {"--locked", In("fast/net.lock")});
  EXPECT_EQ(ReadBytes(In("locked/libnet.so")), ReadBytes(In("fast/libnet.so"))) << locked.output;
  // The other side alone is measured.
  write({In("other.db"), "2", "--apart", "1500", kMerging});
  const Finished other = compile("other", {"--log", In("other.db")});
  EXPECT_THAT(other.output, HasSubstr("fused not measured"));
}

TEST_F(Programs, LockFileOfAnotherModelOrMachineIsRefused) {
  const std::string lock = In("net/net.lock");
  const Finished other =
      RunProgram({kCompile, "--model", kOther, "--threads", "2", "--locked", lock, "-o", In("x")});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.output, HasSubstr("the lock file does not pin"));
  const Finished threads =
      RunProgram({kCompile, "--model", kModel, "--threads", "3", "--locked", lock, "-o", In("x")});
  EXPECT_EQ(threads.exit_code, 78);
  EXPECT_THAT(threads.output, HasSubstr("the lock file is for 'target v1 cpu"));

  std::string text = ReadBytes(lock);
  text.erase(text.rfind("task "));
  WriteBytes(In("short.lock"), text);
  EXPECT_EQ(Compile({"--locked", In("short.lock"), "-o", In("x")}).exit_code, 3);
  WriteBytes(In("broken.lock"), "mlc lock v1\nrubbish\n");
  const Finished broken = Compile({"--locked", In("broken.lock"), "-o", In("x")});
  EXPECT_EQ(broken.exit_code, 65);
  EXPECT_THAT(broken.output, HasSubstr("broken.lock': line 2: 'rubbish' is not expected here"));
  EXPECT_EQ(Compile({"--locked", In("absent.lock"), "-o", In("x")}).exit_code, 65);
  EXPECT_FALSE(fs::exists(In("x")));
}

TEST_F(Programs, CompileShowsEveryStage) {
  const std::pair<const char*, const char*> stages[] = {{"graph", "graph v1 {"},
                                                        {"tasks", "workload v1 tolerance="},
                                                        {"ir", "kernel"},
                                                        {"llvm", "define "},
                                                        {"asm", ".text"}};
  for (const auto& [stage, expected] : stages) {
    const Finished shown = Compile({std::string("--emit=") + stage, "--task", "0"});
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    EXPECT_THAT(shown.output, HasSubstr(expected)) << stage;
  }
  const Finished after = Compile({"--print-after=dce"});
  EXPECT_EQ(after.exit_code, 0);
  EXPECT_THAT(after.output, HasSubstr("# after dce\ngraph v1 {"));
}

TEST_F(Programs, CompileExplainsWrongUse) {
  EXPECT_EQ(RunProgram({kCompile}).exit_code, 2);
  EXPECT_EQ(Compile({}).exit_code, 2);
  EXPECT_EQ(Compile({"--emit=soup"}).exit_code, 2);
  EXPECT_EQ(Compile({"--lock", "a", "--locked", "b", "-o", In("x")}).exit_code, 2);
  EXPECT_EQ(Compile({"--target", "potato", "-o", In("x")}).exit_code, 65);
  const Finished name = Compile({"--name", "../../up", "-o", In("x")});
  EXPECT_EQ(name.exit_code, 65);
  EXPECT_THAT(name.output, HasSubstr("'../../up' cannot name a library"));
  WriteBytes(In("hostile.onnx"), "\xff\xff\xff\xff rubbish");
  EXPECT_EQ(RunProgram({kCompile, "--model", In("hostile.onnx"), "-o", In("x")}).exit_code, 65);
  EXPECT_EQ(Compile({"-o", "/proc/nowhere"}).exit_code, 73);
  EXPECT_FALSE(fs::exists(In("x")));
}

TEST_F(Programs, RunChecksAgainstTheReference) {
  EXPECT_EQ(Run({In("net"), "--threads", "2", "--seed", "7", "--outputs", In("out")}).exit_code, 0);
  const Finished same =
      Run({In("net"), "--threads", "1", "--seed", "7", "--check", In("out"), "--json"});
  ASSERT_EQ(same.exit_code, 0) << same.output;
  const Json report = Json::parse(same.output);
  EXPECT_EQ(report["schema"], "mlc.run/1");
  EXPECT_EQ(report["check"]["passed"], true);
  EXPECT_LE(report["check"]["outputs"][0]["max_relative_difference"].get<double>(), 1e-4);
  EXPECT_FALSE(report.contains("latency_ms"));
  EXPECT_FALSE(report.contains("profile"));

  const Finished other = Run({In("net"), "--seed", "8", "--check", In("out")});
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.output, HasSubstr("FAILED"));
  EXPECT_EQ(Run({In("net"), "--seed", "8", "--check", In("out"), "--rtol", "100"}).exit_code, 0);
}

TEST_F(Programs, RunTimesAndProfiles) {
  const Finished timed = Run({In("net"), "--bench", "0.05", "--profile", "--json"});
  ASSERT_EQ(timed.exit_code, 0) << timed.output;
  const Json report = Json::parse(timed.output);
  const Json& latency = report["latency_ms"];
  EXPECT_GT(latency["runs"], 0);
  EXPECT_GT(latency["p10"], 0.0);
  EXPECT_LE(latency["p10"], latency["median"]);
  EXPECT_LE(latency["median"], latency["p90"]);
  int calls = 0;
  for (const Json& row : report["profile"]) calls += row["calls"].get<int>();
  const Json compiled = Json::parse(ReadBytes(In("net/report.json")));
  int occurrences = 0;
  for (const Json& task : compiled["tasks"]) occurrences += task["occurrences"].get<int>();
  EXPECT_EQ(calls, occurrences);
  const Finished text = Run({In("net"), "--bench", "0.05", "--profile"});
  EXPECT_THAT(text.output, HasSubstr("latency "));
  EXPECT_THAT(text.output, HasSubstr("conv 3x3"));
}

TEST_F(Programs, RunExplainsWrongUse) {
  EXPECT_EQ(Run({}).exit_code, 2);
  EXPECT_EQ(Run({In("net"), "--reference", kModel}).exit_code, 2);
  const Finished absent = Run({In("absent")});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_THAT(absent.output, HasSubstr("no compiled model in"));
  fs::create_directories(In("junk"));
  WriteBytes(In("junk/libjunk.so"), "no library");
  EXPECT_EQ(Run({In("junk")}).exit_code, 65);
  fs::create_directories(In("inputs"));
  WriteBytes(In("inputs/input_0.npy"), "\x93NUMPY rubbish");
  const Finished inputs = Run({In("net"), "--inputs", In("inputs")});
  EXPECT_EQ(inputs.exit_code, 65);
  EXPECT_THAT(inputs.output, HasSubstr("input_0.npy"));
  EXPECT_EQ(Run({In("net"), "--check", In("absent")}).exit_code, 3);
}

TEST_F(Programs, WeightsInAFileAreFoundBesideTheLibrary) {
  ASSERT_EQ(Compile({"--weights", "file", "-o", In("beside")}).exit_code, 0);
  EXPECT_EQ(Run({In("beside")}).exit_code, 0);
  const std::string weights = In("beside/beside.weights");
  const std::string bytes = ReadBytes(weights);
  WriteBytes(weights, bytes.substr(0, bytes.size() - 64));
  const Finished cut = Run({In("beside")});
  EXPECT_EQ(cut.exit_code, 74);
  EXPECT_THAT(cut.output, HasSubstr("the weights file is not the one written with this library"));
  fs::remove(weights);
  const Finished gone = Run({In("beside")});
  EXPECT_EQ(gone.exit_code, 3);
  EXPECT_THAT(gone.output, HasSubstr("the weights file is not there"));
}

}  // namespace
}  // namespace mlc::testing
