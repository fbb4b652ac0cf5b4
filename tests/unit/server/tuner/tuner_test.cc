// The course of a job: to its end, and on after restarts.
#include <gmock/gmock.h>

#include <future>
#include <thread>

#include "base/wire/protocol.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

TEST_F(TunerTest, RunsAJobToItsEnd) {
  const std::string job = Submit(30);
  EXPECT_EQ(Work(job), 30);
  const auto progress = tuner_->Progress(job);
  EXPECT_EQ(progress->state(), proto::DONE);
  EXPECT_EQ(progress->trials(), 30);
  EXPECT_EQ(progress->tasks(0).trials(), 15);
  EXPECT_GT(progress->tasks(0).best_ns(), 0);
  EXPECT_EQ(progress->target(), TargetText());
  EXPECT_EQ(log_->Stats()->records, 30);
  const db::JobRow row = log_->Jobs()->front();
  EXPECT_EQ(row.state, db::JobState::kDone);
  EXPECT_EQ(row.trials, 30);
  EXPECT_EQ(row.label, "test model");
  EXPECT_EQ(log_->Models(target::Target::Parse(TargetText())->ClassText())->size(), 1u);
  const db::Record record = log_->List({})->front();
  EXPECT_EQ(record.toolchain, "test-build");
  EXPECT_EQ(record.worker, "w0");
  EXPECT_EQ(record.arm, "default");
  EXPECT_GT(record.floor_ns, 0);
  proto::BestRequest best;
  best.add_workloads(MakeWorkload(8).digest().ToText());
  best.set_target(record.target);
  EXPECT_THAT(tuner_->Best(best)->best(0).config(), HasSubstr("fake/1"));
}

// What the caller generates is looked at for each workload, and remembered.
TEST_F(TunerTest, BestTakesNoEndlessListOfKernels) {
  proto::BestRequest best;
  best.add_workloads(MakeWorkload(8).digest().ToText());
  for (int i = 0; i < 257; ++i) best.add_kernels("contraction/3");
  EXPECT_THAT(tuner_->Best(best).status().message(), HasSubstr("at most 256 families"));
  best.clear_kernels();
  best.add_kernels(std::string(129, 'x'));
  EXPECT_THAT(tuner_->Best(best).status().message(), HasSubstr("of 128 characters each"));
  best.clear_kernels();
  best.set_target(std::string(1 << 20, 'x'));
  EXPECT_EQ(tuner_->Best(best).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(TunerTest, ARestartGoesOnWhereTheLogEnds) {
  const std::string job = Submit(40);
  const int64_t before = Work(job, 17);
  Restart();
  const std::string first_story = *story_;
  story_->clear();
  const int64_t after = Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  EXPECT_EQ(before + after, 40);
  EXPECT_GE(tuner_->Progress(job)->replayed(), before);
  EXPECT_EQ(log_->Stats()->records, 40);
  EXPECT_EQ(priors_, 0u) << "its own trials are no prior knowledge";
}

TEST_F(TunerTest, MoreTrialsContinueADoneJob) {
  EXPECT_EQ(Work(Submit(12)), 12);
  auto reply = tuner_->Submit(Request(20), Caller::Local());
  EXPECT_TRUE(reply->resumed());
  EXPECT_EQ(Work(reply->job()), 8);
  EXPECT_EQ(log_->Stats()->records, 20);
}

TEST_F(TunerTest, AFreshJobIgnoresTheLogAndOthersUseIt) {
  EXPECT_EQ(Work(Submit(12)), 12);
  proto::SubmitJobRequest request = Request(8);
  request.mutable_options()->set_fresh(true);
  EXPECT_EQ(Work(tuner_->Submit(request, Caller::Local())->job()), 8);
  EXPECT_EQ(priors_, 0u);
  EXPECT_EQ(models_, 0u);
  request = Request(8);
  request.mutable_options()->set_seed(7);
  request.mutable_tasks()->RemoveLast();
  EXPECT_EQ(Work(tuner_->Submit(request, Caller::Local())->job()), 8);
  EXPECT_EQ(priors_, 10u);
  EXPECT_EQ(related_, 1u);
  EXPECT_EQ(models_, 1u);
}

TEST_F(TunerTest, AJobBeginsWithWhatIsFastOnOtherTargets) {
  EXPECT_EQ(Work(Submit(12)), 12);
  EXPECT_EQ(knowledge_.find("other "), std::string::npos) << "the log was empty";
  proto::SubmitJobRequest request = Request(8);
  target::Target other;
  other.cpu().threads += 1;
  request.set_target(other.ToText());
  ASSERT_TRUE(tuner_->Submit(request, Caller::Local()).ok());
  proto::SynchronizeRequest hello = Hello();
  hello.set_worker("w1");
  hello.set_target(other.ToText());
  while (Call(hello)->leases_size() == 0) std::this_thread::yield();
  EXPECT_EQ(priors_, 0u);
  EXPECT_NE(knowledge_.find("other "), std::string::npos);
}

TEST_F(TunerTest, AnInterruptedJobGoesOnAsTheUninterruptedWhateverOthersDid) {
  RunJob(1, {8, 32});
  const Course whole = RunJob(2, {8, 16});
  EXPECT_NE(whole.knowledge, "");
  const int64_t records = log_->Stats()->records;

  tuner_.reset();
  log_ = db::MakeMemoryLog();
  Restart();
  RunJob(1, {8, 32});
  RunJob(2, {8, 16}, /*limit=*/17);
  // Other jobs of the same log end meanwhile: results and models of the same tasks, and of others.
  for (uint64_t seed : {3, 4, 5}) RunJob(seed, {8, 16, 64});
  const int64_t others = 3 * 40;
  Restart();
  const Course resumed = RunJob(2, {8, 16});
  EXPECT_EQ(resumed, whole);
  EXPECT_EQ(log_->Stats()->records, records + others);
  // A done job asked again repeats itself, too: it started from models that are old by now.
  EXPECT_EQ(RunJob(2, {8, 16}), whole);
  EXPECT_EQ(log_->Stats()->records, records + others);
}

TEST_F(TunerTest, ModelsThatNoJobNeedsAreForgotten) {
  RunJob(1, {8});
  const int64_t first = log_->Stats()->last_model_id;
  const std::string target = target::Target::Parse(TargetText())->ClassText();
  RunJob(2, {8}, /*limit=*/3);
  for (uint64_t seed = 10; seed < 14; ++seed) RunJob(seed, {8});
  EXPECT_EQ(log_->Models(target, first)->size(), 1u) << "job 2 started from it";
  RunJob(2, {8});
  for (uint64_t seed = 20; seed < 30; ++seed) RunJob(seed, {8});
  EXPECT_EQ(log_->Models(target, first)->size(), 0u);
  EXPECT_EQ(log_->Models(target)->size(), 1u);
}

TEST_F(TunerTest, CancelledJobsKeepModelsAsLongAsEndedOnes) {
  RunJob(1, {8});
  const int64_t first = log_->Stats()->last_model_id;
  const std::string target = target::Target::Parse(TargetText())->ClassText();
  RunJob(2, {8}, /*limit=*/3);
  RunJob(3, {8});
  EXPECT_EQ(log_->Models(target, first)->size(), 1u) << "job 2 may go on soon";
  for (uint64_t seed = 10; seed < 20; ++seed) RunJob(seed, {8});
  EXPECT_EQ(log_->Models(target, first)->size(), 0u);
  RunJob(2, {8});
  EXPECT_EQ(log_->Jobs()->size(), 13u) << "it goes on nevertheless";
}

TEST_F(TunerTest, TheCommandWithoutFreshGoesOnWithAFreshJob) {
  EXPECT_EQ(Work(Submit(12)), 12);
  proto::SubmitJobRequest request = Request(40);
  request.mutable_options()->set_fresh(true);
  const std::string fresh = tuner_->Submit(request, Caller::Local())->job();
  const int64_t before = Work(fresh, 9);
  ASSERT_TRUE(tuner_->Cancel(fresh, Caller::Local()).ok());
  const int64_t during = Work(fresh);
  const auto reply = tuner_->Submit(Request(40), Caller::Local());
  EXPECT_TRUE(reply->resumed());
  EXPECT_EQ(reply->job(), fresh);
  EXPECT_EQ(before + during + Work(fresh), 40);
  EXPECT_EQ(knowledge_, "") << "it still knows nothing";
}

TEST_F(TunerTest, CancelKeepsResultsAndResumes) {
  const std::string job = Submit(100);
  const int64_t before = Work(job, 9);
  ASSERT_TRUE(tuner_->Cancel(job, Caller::Local()).ok());
  const int64_t during = Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::CANCELLED);
  EXPECT_EQ(log_->Jobs()->front().state, db::JobState::kCancelled);
  EXPECT_TRUE(tuner_->Submit(Request(100), Caller::Local())->resumed());
  EXPECT_EQ(before + during + Work(job), 100);
  EXPECT_EQ(tuner_->Cancel("ff", Caller::Local()).code(), StatusCode::kNotFound);
}

TEST_F(TunerTest, TheTimeBudgetEndsAJob) {
  proto::SubmitJobRequest request = Request(1'000'000);
  configs_ = 1'000'000;
  request.mutable_options()->set_time_budget_ms(50);
  const std::string job = tuner_->Submit(request, Caller::Local())->job();
  EXPECT_LT(Work(job), 1'000'000);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
}

TEST_F(TunerTest, TheEndOfAJobIsKnownAfterARestart) {
  const std::string job = Submit(20);
  Work(job);
  const proto::JobProgress before = *tuner_->Progress(job);
  Restart();
  const auto after = tuner_->Progress(job);
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_EQ(after->state(), proto::DONE);
  EXPECT_EQ(after->trials(), 20);
  EXPECT_EQ(after->trials_wanted(), 20);
  ASSERT_EQ(after->tasks_size(), 2);
  EXPECT_EQ(after->tasks(1).best_ns(), before.tasks(1).best_ns());
  EXPECT_EQ(after->tasks(1).best_config(), before.tasks(1).best_config());
  EXPECT_EQ(after->outcomes(0), before.outcomes(0));
  EXPECT_EQ(tuner_->Progress(Digest{1, 1}.ToText()).status().code(), StatusCode::kNotFound);
}

TEST_F(TunerTest, AJobThatCannotBeReadFailsAloneAtARestart) {
  const std::string job = Submit(20);
  Work(job, 3);
  db::JobRow broken = log_->Jobs()->front();
  broken.id = Digest{1, 2};
  broken.target = "toaster";
  ASSERT_TRUE(log_->PutJob(broken).ok());
  Restart();
  Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  const auto failed = tuner_->Progress(broken.id.ToText());
  EXPECT_EQ(failed->state(), proto::FAILED);
  EXPECT_THAT(failed->detail(), HasSubstr("cannot go on"));
}

TEST_F(TunerTest, ATimeBudgetCountsTheTimeBeforeARestart) {
  proto::SubmitJobRequest request = Request(1'000'000);
  configs_ = 1'000'000;
  request.mutable_options()->set_time_budget_ms(3'600'000);
  const std::string job = tuner_->Submit(request, Caller::Local())->job();
  Work(job, 5);
  tuner_.reset();
  db::JobRow row = log_->Jobs()->front();
  row.spent_ms = 3'600'000;
  ASSERT_TRUE(log_->PutJob(row).ok());
  Restart();
  EXPECT_LT(Work(job), 1'000'000);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
}

// Not all threads make starts while another job's workers want trials.
TEST_F(TunerTest, AJobGoesOnWhileSearchesStart) {
  search_threads_ = 2;
  own_stories_ = true;
  std::promise<void> go;
  before_start_ = [may_start = go.get_future().share()](uint64_t seed) {
    if (seed > 0) may_start.wait();
  };
  Restart();
  std::vector<std::string> jobs;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    jobs.push_back(tuner_->Submit(WithSeed(Request(50), seed), Submitter("ada"))->job());
    if (seed == 0) Work(jobs[0], 10);
  }
  Work(jobs[0]);
  EXPECT_EQ(tuner_->Progress(jobs[0])->state(), proto::DONE);
  go.set_value();
  for (const std::string& job : jobs) {
    Work(job);
    EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  }
}

// Many jobs on few threads: each gets its own results, and all end.
TEST_F(TunerTest, ManyJobsOnSeveralSearchThreadsAllEnd) {
  search_threads_ = 3;
  own_stories_ = true;
  Restart();
  std::vector<std::string> jobs;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    jobs.push_back(tuner_->Submit(WithSeed(Request(50), seed), Submitter("ada"))->job());
  }
  for (const std::string& job : jobs) Work(job);
  for (const std::string& job : jobs) {
    EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
    EXPECT_EQ(tuner_->Progress(job)->trials(), 50);
  }
  EXPECT_EQ(log_->Stats()->records, 12 * 50);
}

}  // namespace
}  // namespace mlc::server
