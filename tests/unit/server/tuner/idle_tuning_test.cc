// An idle server takes up what builds lacked, and gives way to every other job.
#include "server/idle_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <vector>

#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

class IdleTuningTest : public TunerTest {
 protected:
  void SetUp() override {
    TunerTest::SetUp();
    std::filesystem::create_directories(folder_);
    Open(12);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Open(int64_t trials) {
    auto logger =
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    idle_ = std::make_unique<IdleTuning>(path_, *log_, *tuner_, IdleTuningOptions{trials, kQuietMs},
                                         clock_, std::move(logger));
  }
  void Want(int64_t size, int64_t builds, const std::string& target = ClassText()) {
    const graph::Workload workload = MakeWorkload(size);
    const std::vector<db::UntunedWorkload> wanted = {
        {workload.ToText(), workload.Summary(), target, builds, 1, 1}};
    ASSERT_TRUE(db::NoteUntuned(path_, wanted).ok());
  }
  static std::string ClassText() { return target::Target::Parse(TargetText())->ClassText(); }
  // The job that idle tuning runs; empty: none.
  std::string Running() const {
    for (const JobSummary& job : *static_cast<const Tuner&>(*tuner_).List(1)) {
      if (job.state == db::JobState::kRunning && job.owner == IdleTuning::kOwner) return job.job;
    }
    return "";
  }
  // Until it is quiet for long enough; the worker stays in contact.
  void Wait() {
    clock_.Skip(kQuietMs + 1);
    Call();
  }
  // A worker is there.
  void Call() { ASSERT_TRUE(TunerTest::Call(Hello()).ok()); }

  // Longer than a test, shorter than a lease.
  static constexpr int64_t kQuietMs = 20'000;
  const std::string folder_ = ::testing::TempDir() + "/mlc-idle-tuning";
  const std::string path_ = folder_ + "/a.db";
  std::unique_ptr<IdleTuning> idle_;
};

TEST_F(IdleTuningTest, TunesWhatMostBuildsWantedFirstAndForgetsIt) {
  Want(8, 1);
  Want(16, 5);
  Call();
  idle_->Look();
  EXPECT_EQ(Running(), "") << "not at once";
  Wait();
  idle_->Look();
  const std::string first = Running();
  ASSERT_NE(first, "");
  EXPECT_EQ(tuner_->Describe(first)->tasks(0).workload(), MakeWorkload(16).ToText());
  EXPECT_EQ(tuner_->Describe(first)->options().priority(), -100);
  EXPECT_EQ(Work(first), 12);
  idle_->Look();  // notes the end, and begins the next one
  const std::string second = Running();
  ASSERT_NE(second, "");
  EXPECT_EQ(tuner_->Describe(second)->tasks(0).workload(), MakeWorkload(8).ToText());
  EXPECT_EQ(Work(second), 12);
  idle_->Look();
  EXPECT_EQ(Running(), "");
  EXPECT_TRUE(db::ReadUntuned(path_)->empty());
}

TEST_F(IdleTuningTest, GivesWayToAJobAndGoesOnWhereItWas) {
  // More than the proposals in flight when it gives way: workers may still measure those.
  constexpr int64_t kTrials = 64;
  Open(kTrials);
  Want(32, 1);
  Call();
  Wait();
  idle_->Look();
  const std::string idle_job = Running();
  ASSERT_NE(idle_job, "");
  const int64_t before = Work(idle_job, 4);
  const std::string job = Submit(6);
  idle_->Look();
  // Nothing of the idle job is proposed any more: all that is left is the other one's.
  Work(job);
  Work(idle_job);
  EXPECT_EQ(tuner_->Progress(idle_job)->state(), proto::CANCELLED);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  idle_->Look();
  EXPECT_EQ(Running(), "") << "there was a job just now";
  Wait();
  idle_->Look();
  EXPECT_EQ(Running(), idle_job);
  EXPECT_LT(Work(idle_job), kTrials) << "some are in the log already";
  EXPECT_GE(before, 4);
  EXPECT_EQ(tuner_->Progress(idle_job)->state(), proto::DONE);
  EXPECT_EQ(tuner_->Progress(idle_job)->trials(), kTrials);
}

TEST_F(IdleTuningTest, LeavesOutWhatNoWorkerCanRunAndWhatIsNoWorkload) {
  Want(8, 9, "target v1 cuda sm=90 sms=132 memory=1 l2=1 shared=1 registers=1");
  const std::vector<db::UntunedWorkload> forged = {{"forged", "", ClassText(), 7, 1, 1}};
  ASSERT_TRUE(db::NoteUntuned(path_, forged).ok());
  Want(16, 1);
  Call();
  for (int n = 0; n < 3; ++n) {
    Wait();
    idle_->Look();
  }
  const std::string job = Running();
  ASSERT_NE(job, "");
  EXPECT_EQ(tuner_->Describe(job)->tasks(0).workload(), MakeWorkload(16).ToText());
}

TEST_F(IdleTuningTest, WithoutATrialItDoesNothing) {
  Open(0);
  Want(8, 1);
  Call();
  Wait();
  idle_->Look();
  EXPECT_EQ(Running(), "");
}

// A job of a class without workers may wait for days.
TEST_F(IdleTuningTest, AJobThatWaitsForOtherWorkersIsNotInTheWay) {
  Want(8, 1);
  Call();
  proto::SubmitJobRequest request = Request(5);
  target::Target other;
  other.cpu().threads = 99;
  request.set_target(other.ToText());
  ASSERT_TRUE(tuner_->Submit(request, Caller::Local()).ok());
  Wait();
  idle_->Look();
  EXPECT_NE(Running(), "");
}

}  // namespace
}  // namespace mlc::server
