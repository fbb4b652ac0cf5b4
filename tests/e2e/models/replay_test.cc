// What a log gives again: mlc-tune --replay-only measures nothing, and with --reproducible the
// choices are the same whatever the order of the log's records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/e2e/models/run_program.h"

namespace mlc::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kModel[] = MLC_REDUCED_MODELS "/resnet18.onnx";
constexpr char kOther[] = MLC_REDUCED_MODELS "/mobilenet_v2.onnx";

std::string BytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ReplayTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kModel)) {
      GTEST_SKIP() << "no reduced models: no Python with the packages onnx and numpy was found";
    }
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string In(const std::string& name) const { return root_ + "/" + name; }

  Finished Tune(const std::string& log, const std::vector<std::string>& more,
                const char* model = kModel) const {
    std::vector<std::string> command = {MLC_BINARY_DIR "/bin/mlc-tune",
                                        "--model",
                                        model,
                                        "--log",
                                        In(log),
                                        "--target",
                                        "cpu",
                                        "--threads",
                                        "2",
                                        "--quiet"};
    command.insert(command.end(), more.begin(), more.end());
    return RunProgram(command);
  }
  static Json JsonOf(const Finished& run) {
    const size_t begin = run.output.find('{');
    if (begin == std::string::npos) return Json::object();
    return Json::parse(run.output.substr(begin, run.output.find('\n', begin) - begin));
  }
  // The bytes of the lock file and of the library.
  std::string Build(const std::string& log, const std::string& folder) const {
    const Finished run = RunProgram({MLC_BINARY_DIR "/bin/mlc-compile", "--model", kModel, "--log",
                                     In(log), "--threads", "2", "--reproducible", "--lock",
                                     In(folder + ".lock"), "--name", "m", "-o", In(folder)});
    EXPECT_EQ(run.exit_code, 0) << run.output;
    const std::string lock = BytesOf(In(folder + ".lock"));
    const std::string library = BytesOf(In(folder + "/libm.so"));
    EXPECT_FALSE(lock.empty());
    EXPECT_FALSE(library.empty());
    return lock + library;
  }
  // The same records in another order, as text; the jobs stay behind.
  void Shuffle(const std::string& from, const std::string& to, unsigned seed) const {
    const std::string mlc_log = MLC_BINARY_DIR "/bin/mlc-log";
    ASSERT_EQ(RunProgram({mlc_log, "export", In(from), In("lines")}).exit_code, 0);
    std::ifstream in(In("lines"));
    std::vector<std::string> workloads, records;
    for (std::string line; std::getline(in, line);) {
      (Json::parse(line)["kind"] == "workload" ? workloads : records).push_back(line);
    }
    ASSERT_GT(records.size(), 10u);
    std::mt19937 random(seed);
    std::shuffle(workloads.begin(), workloads.end(), random);
    std::shuffle(records.begin(), records.end(), random);
    {
      std::ofstream out(In("shuffled"));
      for (const std::string& line : workloads) out << line << "\n";
      for (const std::string& line : records) out << line << "\n";
    }
    const Finished read = RunProgram({mlc_log, "import", In(to), In("shuffled")});
    ASSERT_EQ(read.exit_code, 0) << read.output;
  }

  std::string root_ = ::testing::TempDir() + "mlc_replay_" + std::to_string(getpid());
};

TEST_F(ReplayTest, TheSameLogGivesTheSameChoicesInAnyOrder) {
  const Finished tuned = Tune("a.db", {"--trials", "48", "--reproducible", "--json"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.output;
  // Another job of the same tasks: what it finds must not shake the winners by chance.
  ASSERT_EQ(Tune("a.db", {"--trials", "24", "--reproducible", "--seed", "3"}).exit_code, 0);
  const std::vector<std::string> replay = {"--replay-only", "--reproducible", "--json"};
  const Finished first = Tune("a.db", replay);
  ASSERT_EQ(first.exit_code, 0) << first.output;
  const Json result = JsonOf(first);
  EXPECT_EQ(result["job"], JsonOf(tuned)["job"]);
  EXPECT_EQ(result["replay"]["answered"], 48) << result["replay"];
  EXPECT_EQ(result["replay"]["unknown"], 0);
  EXPECT_TRUE(result["replay"]["missing"].empty());
  EXPECT_EQ(Tune("a.db", replay).output, first.output);
  const std::string built = Build("a.db", "a");
  EXPECT_EQ(Build("a.db", "again"), built);
  for (const unsigned seed : {1u, 2u}) {
    const std::string name = "shuffled" + std::to_string(seed);
    Shuffle("a.db", name + ".db", seed);
    const Json shuffled = JsonOf(Tune(name + ".db", replay));
    EXPECT_EQ(shuffled["tasks"], result["tasks"]);
    EXPECT_EQ(shuffled["model_ms"], result["model_ms"]);
    EXPECT_EQ(Build(name + ".db", name), built);
  }
}

TEST_F(ReplayTest, NamesTheTasksThatALogLacksAndNeverWrites) {
  const Finished written =
      RunProgram({MLC_BINARY_DIR "/tests/write_log", In("log.db"), "2", kModel});
  ASSERT_EQ(written.exit_code, 0) << written.output;
  const std::string before = BytesOf(In("log.db"));
  const Finished whole = Tune("log.db", {"--replay-only"});
  EXPECT_EQ(whole.exit_code, 0) << whole.output;
  EXPECT_THAT(whole.output, HasSubstr("Every task has a record."));
  EXPECT_THAT(whole.output, HasSubstr("The log has no trial of this job"));
  const Finished lacking = Tune("log.db", {"--replay-only"}, kOther);
  EXPECT_EQ(lacking.exit_code, 3) << lacking.output;
  EXPECT_THAT(lacking.output, HasSubstr("without a record:"));
  EXPECT_THAT(lacking.output, HasSubstr("Tune them with:\n  mlc-tune --model "));
  EXPECT_EQ(BytesOf(In("log.db")), before);
  const Finished missing = Tune("none.db", {"--replay-only"});
  EXPECT_NE(missing.exit_code, 0);
  EXPECT_THAT(missing.output, HasSubstr("there is no tuning log"));
  EXPECT_FALSE(fs::exists(In("none.db")));
}

TEST_F(ReplayTest, BuildsNoteWhatTheLogLacks) {
  ASSERT_EQ(RunProgram({MLC_BINARY_DIR "/tests/write_log", In("log.db"), "2", kModel}).exit_code,
            0);
  const auto build = [&](const char* model, const std::vector<std::string>& more) {
    std::vector<std::string> command = {MLC_BINARY_DIR "/bin/mlc-compile",
                                        "--model",
                                        model,
                                        "--log",
                                        In("log.db"),
                                        "--threads",
                                        "2",
                                        "-o",
                                        In("library")};
    command.insert(command.end(), more.begin(), more.end());
    const Finished run = RunProgram(command);
    EXPECT_EQ(run.exit_code, 0) << run.output;
  };
  const auto untuned = [&] {
    return RunProgram({MLC_BINARY_DIR "/bin/mlc-log", "untuned", In("log.db"), "--json"});
  };
  const std::string list = In("log.db") + ".untuned";
  build(kModel, {});
  EXPECT_FALSE(fs::exists(list)) << "every task has a record";
  EXPECT_EQ(RunProgram({MLC_BINARY_DIR "/bin/mlc-log", "untuned", In("log.db")}).exit_code, 3);
  build(kOther, {"--no-note-untuned"});
  EXPECT_FALSE(fs::exists(list));
  build(kOther, {});
  build(kOther, {"--transfer=off"});
  const Json wanted = Json::parse(untuned().output)["untuned"];
  ASSERT_GT(wanted.size(), 3u);
  for (const Json& task : wanted) EXPECT_EQ(task["builds"], 2);
  ASSERT_EQ(RunProgram({MLC_BINARY_DIR "/tests/write_log", In("log.db"), "2", kOther}).exit_code,
            0);
  EXPECT_TRUE(Json::parse(untuned().output)["untuned"].empty()) << "tuned by now";
}

}  // namespace
}  // namespace mlc::testing
