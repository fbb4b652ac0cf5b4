// Kernels with tunable parameters through real processes, on the CPU: from a specification to the
// log, and from there to a C header and the results format of other tuners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/sandbox/sandbox.h"
#include "compiler/build/c_compiler.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/crash/process.h"
#include "tests/e2e/workers/lab.h"

namespace mlc::e2e {
namespace {

using crash::Spawn;
using crash::Wait;
using ::testing::HasSubstr;

class KernelSpecTest : public Lab {
 protected:
  void SetUp() override {
    if (!build::FindCCompiler().ok()) GTEST_SKIP() << "no C compiler here";
    std::filesystem::copy(MLC_EXAMPLES, Path("kernels"));
  }
  // The exit code; what it prints is in the file `name`.
  int Run(const std::string& name, std::vector<std::string> words) const {
    words[0] = Program(words[0]);
    return Wait(Spawn(words, Path(name)));
  }
  int Tune(const std::string& name, const std::string& kernel, const std::string& trials) const {
    return Run(name, {"mlc-tune", "--kernel", Path("kernels/" + kernel), "--trials", trials,
                      "--threads", "1", "--log", Path("tuning.db"), "--quiet"});
  }
  std::string Output(const std::string& file) const {
    std::ifstream in(Path(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Replace(const std::string& file, const std::string& text, const std::string& by) const {
    std::string all = Output("kernels/" + file);
    const size_t at = all.find(text);
    ASSERT_NE(at, std::string::npos) << text;
    std::ofstream(Path("kernels/" + file)) << all.replace(at, text.size(), by);
  }
  std::vector<db::Record> Records() const {
    const auto log = db::OpenSqliteLogForReading(Path("tuning.db"));
    return log.ok() ? *(*log)->List({}) : std::vector<db::Record>();
  }
};

TEST_F(KernelSpecTest, EveryExampleIsTunedAndItsWinnerIsAHeader) {
  for (const char* name : {"gemm.toml", "convolution.json", "nbody.json"}) {
    ASSERT_EQ(Tune(name, name, "16"), 0) << Output(name);
  }
  int right = 0;
  for (const db::Record& record : Records()) {
    EXPECT_TRUE(record.config.starts_with("user_kernel/2 ")) << record.config;
    EXPECT_EQ(record.measurement.outcome == Outcome::kOk ||
                  record.measurement.outcome == Outcome::kTooSlow,
              true)
        << record.measurement.detail;
    right += record.measurement.outcome == Outcome::kOk ? 1 : 0;
  }
  EXPECT_GE(right, 24);
  ASSERT_EQ(Run("header", {"mlc-log", "header", Path("tuning.db"), "gemm"}), 0) << Output("header");
  EXPECT_THAT(Output("header"), HasSubstr("#define tile_rows "));
  // It is C.
  std::ofstream(Path("user.c")) << "#include \"header\"\nint tile[tile_rows * tile_columns];\n";
  const std::string compiler = *build::FindCCompiler();
  EXPECT_EQ(Wait(Spawn({compiler, "-Wall", "-Werror", "-c", "-o", Path("user.o"), Path("user.c")},
                       Path("messages"))),
            0)
      << Output("messages");
  ASSERT_EQ(Run("results", {"mlc-log", "results", Path("tuning.db"), "gemm"}), 0);
  const auto json = nlohmann::json::parse(Output("results"));
  EXPECT_GE(json["results"].size(), 8u);
  for (const auto& result : json["results"]) {
    EXPECT_EQ(result["configuration"].size(), 5u);
    EXPECT_EQ(result["correctness"], 1);
    for (const char* member : {"configuration", "times", "invalidity", "correctness"}) {
      EXPECT_TRUE(result.contains(member)) << member;
    }
  }
  EXPECT_EQ(Run("none", {"mlc-log", "header", Path("tuning.db"), "absent"}), 3) << Output("none");
}

TEST_F(KernelSpecTest, TheSameCommandContinues) {
  ASSERT_EQ(Tune("first", "gemm.toml", "6"), 0) << Output("first");
  const size_t before = Records().size();
  ASSERT_EQ(Tune("second", "gemm.toml", "6"), 0) << Output("second");
  EXPECT_EQ(Records().size(), before);
  ASSERT_EQ(Tune("third", "gemm.toml", "12"), 0) << Output("third");
  EXPECT_GT(Records().size(), before);
}

TEST_F(KernelSpecTest, WrongAndBrokenConfigsAreFoundAndTheRestIsTuned) {
  Replace("gemm.c", "= sum[i][j];", "= sum[i][j] + (order == 1);");
  Replace("gemm.c", "void gemm",
          "#if tile_rows == 1\n#error one row is too few\n#endif\nvoid gemm");
  const int code = Tune("tune", "gemm.toml", "48");
  EXPECT_TRUE(code == 0 || code == 4) << code << Output("tune");
  bool wrong = false;
  bool broken = false;
  for (const db::Record& record : Records()) {
    const bool has_error = record.config.find(" tile_rows=1 ") != std::string::npos;
    const bool is_wrong = !has_error && record.config.find(" order=1 ") != std::string::npos;
    const Outcome outcome = record.measurement.outcome;
    if (has_error) {
      EXPECT_EQ(outcome, Outcome::kBuildError);
      EXPECT_THAT(record.measurement.detail, HasSubstr("one row is too few"));
    }
    if (is_wrong) {
      EXPECT_EQ(outcome, Outcome::kWrongResult);
    }
    broken = broken || has_error;
    wrong = wrong || is_wrong;
  }
  EXPECT_TRUE(wrong);
  EXPECT_TRUE(broken);
}

// The addresses of tables do not fit the 32 bits that a compiler takes for granted in a program.
TEST_F(KernelSpecTest, AKernelMayHaveTablesAndCallMathFunctions) {
  Replace("gemm.c", "= sum[i][j];", "= sum[i][j] * expf(zero[(i + n) & 3]);");
  Replace("gemm.c", "void gemm", "#include <math.h>\nstatic volatile float zero[4];\nvoid gemm");
  ASSERT_EQ(Tune("tune", "gemm.toml", "4"), 0) << Output("tune");
  for (const db::Record& record : Records()) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kOk) << record.measurement.detail;
  }
}

// Compilers make vectors of such loops, and call a library of vector functions.
TEST_F(KernelSpecTest, AKernelMayCallMathFunctionsInLoopsUnderFastMath) {
  Replace("gemm.c", "= sum[i][j];", "= logf(expf(sum[i][j])) + sinf(0.0f * sum[i][j]);");
  Replace("gemm.c", "void gemm", "#include <math.h>\nvoid gemm");
  ASSERT_EQ(Tune("tune", "gemm.toml", "4"), 0) << Output("tune");
  for (const db::Record& record : Records()) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kOk) << record.measurement.detail;
  }
}

TEST_F(KernelSpecTest, AKernelThatCallsAnythingElseIsToldSo) {
  Replace("gemm.c", "= sum[i][j];", "= sum[i][j] * (float)rand();");
  Replace("gemm.c", "void gemm", "#include <stdlib.h>\nvoid gemm");
  EXPECT_NE(Tune("tune", "gemm.toml", "2"), 0);
  ASSERT_FALSE(Records().empty());
  for (const db::Record& record : Records()) {
    EXPECT_THAT(record.measurement.detail, HasSubstr("the kernel calls 'rand'"));
  }
}

TEST_F(KernelSpecTest, TheCompilerReadsNoFileOfTheUser) {
  if (!build::CanSandbox(build::Limits::SandboxKind::kCompiler).ok()) GTEST_SKIP() << "no landlock";
  std::ofstream(Path("secret.h")) << "secret words\n";
  Replace("gemm.c", "void gemm", "#include \"" + Path("secret.h") + "\"\nvoid gemm");
  EXPECT_NE(Tune("tune", "gemm.toml", "2"), 0);
  ASSERT_FALSE(Records().empty());
  for (const db::Record& record : Records()) {
    EXPECT_EQ(record.measurement.outcome, Outcome::kBuildError);
    EXPECT_EQ(record.measurement.detail.find("secret words"), std::string::npos);
    EXPECT_THAT(record.measurement.detail, HasSubstr("Permission denied"));
  }
}

TEST_F(KernelSpecTest, ASpecificationThatIsWrongIsRefusedWithItsPlace) {
  Replace("convolution.json", "tile_rows * tile_columns <= 256", "tile_rows * tile <= 256");
  EXPECT_EQ(Tune("tune", "convolution.json", "4"), 65);
  EXPECT_THAT(Output("tune"), HasSubstr("Conditions: column 13 of 'tile_rows * tile <= 256': the "
                                        "name 'tile' is not known"));
  Replace("gemm.toml", "Values = [16, 32, 64, 128]", "Values = [16, 32, 64");
  EXPECT_EQ(Tune("toml", "gemm.toml", "4"), 65);
  EXPECT_THAT(Output("toml"), HasSubstr("line "));
  Replace("nbody.json", "\"WorkloadFile\":", "\"Workload\": \"workload v1\", \"WorkloadFile\":");
  EXPECT_EQ(Tune("twice", "nbody.json", "4"), 65);
  EXPECT_THAT(Output("twice"), HasSubstr("Workload and WorkloadFile are both given"));
  Replace("nbody.json", "\"Workload\": \"workload v1\", ", "");
  Replace("nbody.json", "\"WorkloadFile\": \"nbody.workload\"", "\"ReferenceArguments\": []");
  EXPECT_EQ(Tune("reference", "nbody.json", "4"), 65);
  EXPECT_THAT(Output("reference"), HasSubstr("ReferenceArguments have the results of one set"));
  EXPECT_EQ(Run("usage", {"mlc-tune", "--kernel", Path("kernels/nbody.json")}), 2);
  EXPECT_THAT(Output("usage"), HasSubstr("--trials is required"));
}

TEST_F(KernelSpecTest, AServerLeasesItToAWorkerThatTakesIt) {
  StartServer({"--canaries", "off"});
  const auto worker = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> words = {
        Program("mlc-worker"), "--server", Address(), "--target", "cpu",
        "--threads",           "1",        "--name",  name};
    words.insert(words.end(), more.begin(), more.end());
    return Spawn(words, Path("messages"));
  };
  one_ = worker("without", {});
  two_ = worker("with", {"--allow-user-kernels"});
  ASSERT_TRUE(WaitFor([&] {
    return !Line("without").target().empty() && !Line("with").target().empty();
  })) << Messages();
  EXPECT_EQ(Run("tune", {"mlc-tune", "--server", Address(), "--threads", "1", "--kernel",
                         Path("kernels/nbody.json"), "--trials", "6", "--quiet"}),
            0)
      << Output("tune") << Messages();
  EXPECT_EQ(Line("without").results(), 0);
  EXPECT_GE(Line("with").results(), 6);
}

}  // namespace
}  // namespace mlc::e2e
