// The search of a job, repeated from the records of the log alone.
#include <gtest/gtest.h>

#include <utility>

#include "server/api/job_messages.h"
#include "server/jobs/replay.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

class TunerReplayTest : public TunerTest {
 protected:
  // `trials`: 0 for those of the job in the log.
  ReplayedSearch Replay(proto::SubmitJobRequest wire, int64_t trials = 0) {
    Result<JobRequest> request = ParseJobRequest(FromWire(std::move(wire)));
    EXPECT_TRUE(request.ok()) << request.status().ToString();
    request->options.trials = trials;
    replayed_->clear();
    const auto replayed = ReplaySearch(*log_, *request, [this](SearchInput input) {
      return std::make_unique<FakeStrategy>(std::move(input), configs_, replayed_);
    });
    EXPECT_TRUE(replayed.ok()) << replayed.status().ToString();
    return *replayed;
  }
  // As a merge or an import leaves it: the records without the jobs.
  void ForgetJobs() {
    std::unique_ptr<db::TuningLog> records = db::MakeMemoryLog();
    for (const db::WorkloadRow& row : *log_->Workloads()) {
      ASSERT_TRUE(records->AddWorkload(row).ok());
    }
    for (const db::Record& record : *log_->List({})) {
      ASSERT_TRUE(db::AppendAndWait(*records, record).ok());
    }
    tuner_.reset();
    log_ = std::move(records);
  }

  std::shared_ptr<std::string> replayed_ = std::make_shared<std::string>();
};

TEST_F(TunerReplayTest, AnswersEveryTrialOfAJobThatHasEnded) {
  const std::string job = Submit(30);
  Work(job);
  const ReplayedSearch search = Replay(Request(30));
  EXPECT_EQ(search.job.ToText(), job);
  EXPECT_TRUE(search.is_known);
  EXPECT_EQ(search.wanted, 30);
  EXPECT_EQ(search.answered, 30);
  EXPECT_EQ(search.unknown, 0);
  EXPECT_EQ(search.outcomes[static_cast<size_t>(Outcome::kRunError)], 4) << "3, 10, 17 and 24";
  EXPECT_EQ(search.outcomes[static_cast<size_t>(Outcome::kOk)], 26);
  EXPECT_EQ(*replayed_, *story_) << "the same course";
  EXPECT_EQ(log_->Stats()->records, 30) << "it only reads";
}

TEST_F(TunerReplayTest, LaterJobsDoNotChangeTheCourse) {
  const Course first = RunJob(1, {8, 16});
  RunJob(2, {8, 16, 32});
  proto::SubmitJobRequest again = WithSeed(Request(40), 1);
  EXPECT_EQ(Replay(again).answered, 40);
  EXPECT_EQ(*replayed_, first.story);
}

TEST_F(TunerReplayTest, EndsWhereTheLogDoes) {
  Work(Submit(40), 17);
  const ReplayedSearch search = Replay(Request(40));
  EXPECT_EQ(search.wanted, 40);
  EXPECT_EQ(search.answered, log_->Stats()->records);
  EXPECT_GE(search.unknown, 4);
  // The worker had some of the two batches in flight, in any order; of the next two the log has
  // none.
  EXPECT_LT(search.unknown, 16);
}

TEST_F(TunerReplayTest, MoreTrialsThanTheJobHadAreUnknown) {
  Work(Submit(12));
  const ReplayedSearch search = Replay(Request(12), 20);
  EXPECT_EQ(search.wanted, 20);
  EXPECT_EQ(search.answered, 12);
  EXPECT_EQ(search.unknown, 4) << "a batch, after which it ends";
}

TEST_F(TunerReplayTest, RecordsWithoutTheirJobAreEnough) {
  Work(Submit(30));
  ForgetJobs();
  const ReplayedSearch search = Replay(Request(30));
  EXPECT_TRUE(search.is_known);
  EXPECT_EQ(search.wanted, 30);
  EXPECT_EQ(search.answered, 30);
  EXPECT_EQ(*replayed_, *story_);
}

TEST_F(TunerReplayTest, AReproducibleJobIsAnotherOneAndHasNoTimeBudget) {
  Work(Submit(30));
  proto::SubmitJobRequest request = Request(30);
  request.mutable_options()->set_reproducible(true);
  EXPECT_FALSE(Replay(request).is_known);
  const auto job = tuner_->Submit(request, Caller::Local());
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  Work(job->job());
  EXPECT_EQ(Replay(request).answered, 30);
  EXPECT_TRUE(tuner_->Describe(job->job())->options().reproducible());
  request.mutable_options()->set_time_budget_ms(1000);
  EXPECT_EQ(tuner_->Submit(request, Caller::Local()).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(TunerReplayTest, AnotherSeedIsAnotherJob) {
  Work(Submit(30));
  const ReplayedSearch search = Replay(WithSeed(Request(30), 7));
  EXPECT_FALSE(search.is_known);
  EXPECT_EQ(search.answered + search.unknown, 0);
}

}  // namespace
}  // namespace mlc::server
