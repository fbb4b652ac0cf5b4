// mlc-tune of a model whose query, key and value may be one product or three: one run tunes both,
// and finds the faster one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "costmodel/plainly_faster.h"
#include "tests/e2e/models/run_program.h"

namespace mlc::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kModel[] = MLC_REDUCED_MODELS "/bert_base.onnx";
// No kernel is as fast, or as slow.
constexpr char kUnbeatable[] = "30";
constexpr char kVerySlow[] = "1e9";

class TuneVariants : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kModel)) {
      GTEST_SKIP() << "no reduced models: no Python with the packages onnx and numpy was found";
    }
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string In(const std::string& name) const { return root_ + "/" + name; }

  // The result of a run that has to end well.
  Json Tune(const std::vector<std::string>& more) const {
    std::vector<std::string> command = {MLC_BINARY_DIR "/bin/mlc-tune",
                                        "--model",
                                        kModel,
                                        "--log",
                                        In("tuning.db"),
                                        "--target",
                                        "cpu",
                                        "--threads",
                                        "2",
                                        "--json",
                                        "--quiet"};
    command.insert(command.end(), more.begin(), more.end());
    const Finished run = RunProgram(command);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    const size_t begin = run.output.find('{');
    if (begin == std::string::npos) return Json::object();
    return Json::parse(run.output.substr(begin, run.output.find('\n', begin) - begin));
  }

  // What the build says, which has to find every kernel in the log.
  std::string Compile() const {
    const Finished run =
        RunProgram({MLC_BINARY_DIR "/bin/mlc-compile", "--model", kModel, "--log", In("tuning.db"),
                    "--threads", "2", "--require-tuned", "-o", In("library")});
    EXPECT_EQ(run.exit_code, 0) << run.output;
    return run.output;
  }

  // Made-up times of both variants: 2000 ns for the tasks of the merged one, and `apart` for those
  // that only the other one has.
  void KnowTimes(const char* apart) const {
    for (const std::vector<std::string>& flags :
         {std::vector<std::string>{}, std::vector<std::string>{"--apart", apart}}) {
      std::vector<std::string> command = {MLC_BINARY_DIR "/tests/write_log", In("tuning.db"), "2"};
      command.insert(command.end(), flags.begin(), flags.end());
      command.emplace_back(kModel);
      const Finished written = RunProgram(command);
      ASSERT_EQ(written.exit_code, 0) << written.output;
    }
  }

  // Trials of the tasks that one variant alone uses.
  static int64_t TrialsOfOne(const Json& result, size_t variant) {
    int64_t trials = 0;
    for (const Json& task : result["tasks"]) {
      if (task["uses"][1 - variant] == 0) trials += task["trials"].get<int64_t>();
    }
    return trials;
  }

  std::string root_ = ::testing::TempDir() + "mlc_tune_variants_" + std::to_string(getpid());
};

TEST_F(TuneVariants, OneRunMeasuresBothAndABuildTakesTheFaster) {
  const Json result = Tune({"--trials", "80"});
  ASSERT_EQ(result["variants"].size(), 2u) << result;
  const Json& fused = result["variants"][0];
  const Json& apart = result["variants"][1];
  EXPECT_EQ(fused["name"], "fused");
  EXPECT_EQ(apart["name"], "products apart");
  EXPECT_EQ(fused["tasks_without_kernel"], 0);
  EXPECT_GT(TrialsOfOne(result, 0), 0);
  EXPECT_GT(TrialsOfOne(result, 1), 0);
  const double fused_ms = fused["model_ms"], apart_ms = apart["model_ms"];
  const bool apart_wins =
      apart["tasks_without_kernel"] == 0 && costmodel::PlainlyFaster(apart_ms, fused_ms);
  EXPECT_EQ(result["variant"], apart_wins ? "products apart" : "fused");
  EXPECT_EQ(result["model_ms"], apart_wins ? apart_ms : fused_ms);
  const std::string built = Compile();
  // The log weighs times that were not confirmed otherwise than the search does.
  if (std::abs(apart_ms - fused_ms) > 0.3 * fused_ms) {
    EXPECT_EQ(built.find("stay apart: ") != std::string::npos, apart_wins) << built;
  }
  // The same again, all from the log.
  const Json again = Tune({"--trials", "80"});
  EXPECT_EQ(again["replayed"], again["trials"]);
  EXPECT_EQ(again["job"], result["job"]);
  EXPECT_EQ(again["variants"], result["variants"]);
  EXPECT_EQ(again["tasks"], result["tasks"]);
  const Json chosen = Tune({"--trials", "8", "--skip-pass", "merge_siblings"});
  EXPECT_FALSE(chosen.contains("variants")) << "the user has chosen";
}

TEST_F(TuneVariants, NoTrialForMergedProductsThatCannotWin) {
  KnowTimes(kUnbeatable);
  const Json result = Tune({"--trials", "6"});
  EXPECT_EQ(result["variant"], "products apart");
  EXPECT_EQ(TrialsOfOne(result, 0), 0);
  EXPECT_THAT(Compile(), HasSubstr("products of one value stay apart: "));
}

TEST_F(TuneVariants, NoTrialForProductsApartThatCannotWin) {
  KnowTimes(kVerySlow);
  const Json result = Tune({"--trials", "6"});
  EXPECT_EQ(result["variant"], "fused");
  EXPECT_EQ(TrialsOfOne(result, 1), 0);
  EXPECT_THAT(Compile(), Not(HasSubstr("stay apart")));
}

}  // namespace
}  // namespace mlc::testing
