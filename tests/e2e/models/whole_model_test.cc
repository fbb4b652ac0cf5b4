// Runners-up in a whole model, through the real programs: on a CPU, whose libraries are built
// and timed by the same commands as a GPU's.
#include "client/local/whole_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "db/sqlite/sqlite_log.h"
#include "tests/e2e/models/run_program.h"

namespace mlc::client {
namespace {

namespace fs = std::filesystem;

constexpr char kModel[] = MLC_REDUCED_MODELS "/resnet18.onnx";

class WholeModel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kModel)) {
      GTEST_SKIP() << "no reduced models: no Python with the packages onnx and numpy was found";
    }
    fs::create_directories(root_);
    const testing::Finished written = testing::RunProgram(
        {MLC_BINARY_DIR "/tests/write_log", options_.log, "2", "--slower", kModel});
    ASSERT_EQ(written.exit_code, 0) << written.output;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::vector<db::Record> Records() const {
    const auto log = db::OpenSqliteLogForReading(options_.log);
    EXPECT_TRUE(log.ok());
    const auto records = (*log)->List({});
    EXPECT_TRUE(records.ok());
    return *records;
  }

  std::string root_ = ::testing::TempDir() + "mlc_whole_model_" + std::to_string(getpid());
  WholeModelOptions options_{{"--model", kModel, "--threads", "2"},
                             root_ + "/tuning.db",
                             DigestOf("job"),
                             MLC_BINARY_DIR "/bin",
                             0,
                             3,
                             600'000};
  std::stop_source stop_;
};

TEST_F(WholeModel, EveryRunnerUpIsTimedAndTheLogIsToldWhatWasTaken) {
  const size_t before = Records().size();
  const Result<WholeModelResult> result = TryInWholeModel(options_, stop_.get_token());
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->asked, 3);
  EXPECT_EQ(result->tried, 3);
  EXPECT_GT(result->seconds, 0);
  EXPECT_GT(result->before_ms, 0);
  EXPECT_LE(result->after_ms, result->before_ms);
  const std::vector<db::Record> after = Records();
  ASSERT_EQ(after.size(), before + static_cast<size_t>(result->taken));
  for (size_t i = before; i < after.size(); ++i) {
    EXPECT_EQ(after[i].arm, db::kConfirmationArm);
    EXPECT_EQ(after[i].job_id, DigestOf("job"));
    EXPECT_LT(after[i].measurement.median_ns, 2000) << "less than of the config in use";
  }
}

TEST_F(WholeModel, WithoutTimeNothingIsTried) {
  options_.budget_ms = 0;
  const size_t before = Records().size();
  const Result<WholeModelResult> result = TryInWholeModel(options_, stop_.get_token());
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->tried, 0);
  EXPECT_EQ(result->taken, 0);
  EXPECT_EQ(Records().size(), before);
}

// A library beside the first one ends with its process, and the others are timed.
TEST_F(WholeModel, AProgramThatCrashesBesideOneLibraryLosesNoOther) {
  const std::string bin = root_ + "/bin";
  fs::create_directories(bin);
  fs::create_symlink(MLC_BINARY_DIR "/bin/mlc-compile", bin + "/mlc-compile");
  std::ofstream(bin + "/mlc-run") << "#!/bin/sh\ncase \"$*\" in */0/model*) kill -9 $$;; esac\n"
                                  << "exec '" MLC_BINARY_DIR "/bin/mlc-run' \"$@\"\n";
  fs::permissions(bin + "/mlc-run", fs::perms::owner_all);
  options_.programs = bin;
  const Result<WholeModelResult> result = TryInWholeModel(options_, stop_.get_token());
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->asked, 3);
  EXPECT_EQ(result->tried, 2);
}

// With times that a script makes up: every library beside the first one takes 0.9 of its time.
TEST_F(WholeModel, GainsAreTakenTogether) {
  const std::string bin = root_ + "/bin";
  fs::create_directories(bin);
  fs::create_symlink(MLC_BINARY_DIR "/bin/mlc-compile", bin + "/mlc-compile");
  std::ofstream(bin + "/mlc-run")
      << "#!/bin/sh\nrows=\nfor word in \"$@\"; do\n"
      << "  [ \"$word\" = --beside ] && rows=\"$rows${rows:+,}{\\\"quotient\\\":0.9}\"\ndone\n"
      << "echo \"{\\\"latency_ms\\\":{\\\"median\\\":2},\\\"beside\\\":[$rows]}\"\n";
  fs::permissions(bin + "/mlc-run", fs::perms::owner_all);
  options_.programs = bin;
  const size_t before = Records().size();
  const Result<WholeModelResult> result = TryInWholeModel(options_, stop_.get_token());
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->tried, 3);
  EXPECT_GE(result->taken, 1);
  EXPECT_EQ(result->before_ms, 2);
  EXPECT_NEAR(result->after_ms, 1.8, 1e-9);
  EXPECT_EQ(Records().size(), before + static_cast<size_t>(result->taken));
}

TEST_F(WholeModel, AnInterruptAndMissingProgramsLeaveTheLogAsItWas) {
  const size_t before = Records().size();
  stop_.request_stop();
  EXPECT_EQ(TryInWholeModel(options_, stop_.get_token()).status().code(), StatusCode::kCancelled);
  options_.programs = root_;
  EXPECT_EQ(TryInWholeModel(options_, {}).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Records().size(), before);
}

// The libraries are run here without a sandbox, and nobody was asked: whoever wrote into the log
// writes no program. `mlc-compile` takes user-supplied kernels unless it is told not to.
TEST_F(WholeModel, KernelsThatSomebodyWroteIntoTheLogAreNotTaken) {
  options_.programs = root_;
  const std::string compiler = root_ + "/mlc-compile";
  std::ofstream(compiler) << "#!/bin/sh\necho \"$@\" >>'" << root_ << "/asked'\nexit 1\n";
  fs::permissions(compiler, fs::perms::owner_all);
  EXPECT_FALSE(TryInWholeModel(options_, stop_.get_token()).ok());
  std::ifstream file(root_ + "/asked");
  const std::string asked(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(asked, ::testing::HasSubstr("--log " + options_.log));
  EXPECT_THAT(asked, ::testing::HasSubstr("--user-kernels off"));
}

}  // namespace
}  // namespace mlc::client
