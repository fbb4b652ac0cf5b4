// Whose jobs are whose: joining, cancelling, quotas, lists.
#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "base/wire/protocol.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

TEST_F(TunerTest, ACancelledJobIsCancelledForGoodBeforeTheAnswer) {
  const std::string job = Submit(100);
  proto::SynchronizeRequest request = Hello();
  while (Call(request)->leases_size() == 0) std::this_thread::yield();
  ASSERT_TRUE(tuner_->Cancel(job, Caller::Local()).ok());
  EXPECT_EQ(log_->Jobs()->front().state, db::JobState::kCancelled) << "with trials under way";
  Restart();
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::CANCELLED);
  EXPECT_EQ(Call(Hello())->leases_size(), 0);
  EXPECT_TRUE(tuner_->Cancel(job, Caller::Local()).ok()) << "again changes nothing";
}

TEST_F(TunerTest, PeopleSeeWhatEachWorkerHoldsAndWhoWaits) {
  const std::string job = tuner_->Submit(Request(100), Submitter("ada"))->job();
  int64_t held = 0;
  while (held == 0) held = Call(Hello())->leases_size();
  const LiveState live = tuner_->Live();
  ASSERT_EQ(live.workers.size(), 1U);
  const WorkerActivity& worker = live.workers.at(Hello().worker());
  ASSERT_EQ(static_cast<int64_t>(worker.held.size()), std::min<int64_t>(held, 8));
  EXPECT_EQ(worker.held[0].job, job);
  EXPECT_LT(worker.use, 0) << "not reported";
  ASSERT_EQ(live.queues.size(), 1U);
  const ClassQueue& queue = live.queues[0];
  ASSERT_EQ(queue.users.size(), 1U);
  EXPECT_EQ(queue.users[0].user, "ada");
  for (const WaitingJob& waiting : queue.jobs) {
    EXPECT_EQ(waiting.job, job);
    EXPECT_EQ(waiting.owner, "ada");
    EXPECT_EQ(waiting.leased, held);
  }
}

TEST_F(TunerTest, OnlyTheOwnerOrAnAdministratorCancels) {
  const std::string job = tuner_->Submit(Request(100), Submitter("ada"))->job();
  const Status refused = tuner_->Cancel(job, Submitter("bob"));
  EXPECT_EQ(refused.code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(refused.message(), HasSubstr("is ada's: its owner or an administrator"));
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::RUNNING);
  EXPECT_TRUE(tuner_->Cancel(job, Caller{"root", Role::kAdmin, false}).ok());
  Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::CANCELLED);
  EXPECT_EQ(tuner_->Cancel(job, Submitter("bob")).code(), StatusCode::kPermissionDenied);
}

TEST_F(TunerTest, AJobThatIsDoneCannotBeCancelled) {
  const std::string job = Submit(8);
  Work(job);
  Restart();
  const Status refused = tuner_->Cancel(job, Caller::Local());
  EXPECT_EQ(refused.code(), StatusCode::kNotFound);
  EXPECT_THAT(refused.message(), HasSubstr("it is done"));
}

TEST_F(TunerTest, TheSameJobJoinsAndTheLargerBudgetCounts) {
  const std::string job = tuner_->Submit(Request(24), Submitter("ada"))->job();
  Work(job, 5);
  const auto joined = tuner_->Submit(Request(12), Submitter("bob"));
  ASSERT_TRUE(joined.ok()) << joined.status().ToString();
  EXPECT_TRUE(joined->joined());
  EXPECT_EQ(joined->job(), job);
  EXPECT_EQ(tuner_->Progress(job)->trials_wanted(), 24);
  EXPECT_TRUE(tuner_->Submit(Request(40), Submitter("bob"))->joined());
  EXPECT_EQ(tuner_->Progress(job)->trials_wanted(), 40);
  Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  EXPECT_EQ(tuner_->Progress(job)->trials(), 40);
  EXPECT_EQ(log_->Stats()->records, 40);
  ASSERT_EQ(log_->Jobs()->size(), 1u);
  EXPECT_EQ(log_->Jobs()->front().owner, "bob") << "who asked for the rest";
}

TEST_F(TunerTest, AJobThatOthersJoinStaysItsOwnersInTheLog) {
  const std::string job = tuner_->Submit(Request(24), Submitter("ada"))->job();
  Work(job, 5);
  ASSERT_TRUE(tuner_->Submit(Request(40), Submitter("bob"))->joined());
  EXPECT_EQ(log_->Jobs()->front().owner, "ada");
  Restart();
  EXPECT_EQ(tuner_->Cancel(job, Submitter("bob")).code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(tuner_->Progress(job)->trials_wanted(), 40) << "what bob wants is not lost";
  EXPECT_TRUE(tuner_->Cancel(job, Submitter("ada")).ok());
}

TEST_F(TunerTest, WhatIsRefusedLeavesNothingInTheLog) {
  quotas_ = *Quotas::Parse(R"({"default": {"running_jobs": 0}})");
  Restart();
  EXPECT_EQ(tuner_->Submit(Request(8), Submitter("eve")).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(log_->Stats()->workloads, 0);
  EXPECT_EQ(log_->Stats()->jobs, 0);
}

TEST_F(TunerTest, AWorkloadThatCostsTooMuchIsRefusedWithTheReason) {
  std::string text = "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[1]\n";
  for (int i = 0; i < 35; ++i) {
    const std::string n = std::to_string(i);
    text += "  %" + std::to_string(i + 1) + " = concat(%" + n + ", %" + n + ") {axis=0} : f32[" +
            std::to_string(int64_t{2} << i) + "]\n";
  }
  proto::SubmitJobRequest request = Request(8);
  request.mutable_tasks(1)->set_workload(text + "  return %35\n}\n");
  const Status refused = tuner_->Submit(request, Submitter("eve")).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("task 1"));
  EXPECT_THAT(refused.message(), HasSubstr("repeatedly at different coordinates"));
  text = "workload v1 tolerance=1e-04 {\n  %0 = input() : f32[1]\n";
  for (int i = 1; i < 20'000; ++i) {
    text += "  %" + std::to_string(i) + " = exp(%" + std::to_string(i - 1) + ") : f32[1]\n";
  }
  request.mutable_tasks(1)->set_workload(text + "  return %19999\n}\n");
  EXPECT_THAT(tuner_->Submit(request, Submitter("eve")).status().message(),
              HasSubstr("too many values: at most 16384 are taken"));
  EXPECT_EQ(log_->Stats()->workloads, 0);
}

TEST_F(TunerTest, ManyDearWorkloadsAreRefusedTogether) {
  proto::SubmitJobRequest request = Request(8);
  request.clear_tasks();
  for (int size = 1; size <= 201; ++size) {
    const std::string type = " : f32[" + std::to_string(size) + "]\n";
    std::string text = "workload v1 tolerance=1e-04 {\n  %0 = input()" + type;
    for (int i = 1; i <= 1000; ++i) {
      text += "  %" + std::to_string(i) + " = exp(%" + std::to_string(i - 1) + ")" + type;
    }
    proto::Task& task = *request.add_tasks();
    task.set_workload(text + "  return %1000\n}\n");
    task.set_occurrences(1);
  }
  const Status refused = tuner_->Submit(request, Submitter("eve")).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("task 200: this workload and those before it"));
  request.mutable_tasks()->RemoveLast();
  EXPECT_TRUE(tuner_->Submit(request, Submitter("eve")).ok());
}

TEST_F(TunerTest, ALargerBudgetSurvivesARestart) {
  const std::string job = Submit(24);
  Work(job, 5);
  EXPECT_TRUE(tuner_->Submit(Request(40), Caller::Local())->joined());
  Restart();
  Work(job);
  EXPECT_EQ(log_->Stats()->records, 40);
}

TEST_F(TunerTest, AJobSubmittedAgainWhileItIsBeingCancelledGoesOn) {
  const std::string job = Submit(30);
  proto::SynchronizeRequest request = Hello();
  while (Call(request)->leases_size() == 0) std::this_thread::yield();
  ASSERT_TRUE(tuner_->Cancel(job, Caller::Local()).ok());
  EXPECT_TRUE(tuner_->Submit(Request(30), Caller::Local())->resumed());
  Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  EXPECT_EQ(log_->Stats()->records, 30);
}

TEST_F(TunerTest, QuotasLimitEachUser) {
  quotas_ = *Quotas::Parse(
      R"({"default": {"running_jobs": 1, "queued_trials": 100, "tasks_per_job": 2},
          "users": {"ada": {"running_jobs": 2}}})");
  Restart();
  const auto submit = [this](const char* user, uint64_t seed, int64_t trials) {
    proto::SubmitJobRequest request = Request(trials);
    request.mutable_options()->set_seed(seed);
    return tuner_->Submit(request, Submitter(user));
  };
  EXPECT_TRUE(submit("bob", 1, 10).ok());
  const Status second = submit("bob", 2, 10).status();
  EXPECT_EQ(second.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(second.message(), HasSubstr("bob has 1 jobs running"));
  EXPECT_TRUE(submit("bob", 1, 10)->joined()) << "joining starts nothing";
  EXPECT_TRUE(submit("ada", 3, 60).ok()) << "others are not concerned";
  EXPECT_THAT(submit("ada", 4, 50).status().message(), HasSubstr("waits for 60 trials"));
  EXPECT_TRUE(submit("ada", 4, 40).ok());
  const std::string job = submit("bob", 1, 10)->job();
  Work(job);
  EXPECT_TRUE(submit("bob", 2, 10).ok()) << "its job has ended";
  proto::SubmitJobRequest large = Request(5);
  proto::Task& third = *large.add_tasks();
  third.set_workload(MakeWorkload(99).ToText());
  third.set_occurrences(1);
  EXPECT_THAT(tuner_->Submit(large, Submitter("eve")).status().message(),
              HasSubstr("the job has 3 tasks"));
}

TEST_F(TunerTest, MoreTrialsThanTheJoinedJobHasCountForWhoWantsThem) {
  quotas_ = *Quotas::Parse(R"({"default": {"running_jobs": 1, "queued_trials": 100}})");
  Restart();
  const auto submit = [this](const char* user, uint64_t seed, int64_t trials) {
    return tuner_->Submit(WithSeed(Request(trials), seed), Submitter(user));
  };
  ASSERT_TRUE(submit("ada", 1, 90).ok());
  EXPECT_TRUE(submit("bob", 1, 90)->joined());
  EXPECT_TRUE(submit("ada", 1, 100)->joined()) << "one's own job does not count twice";
  EXPECT_THAT(submit("bob", 1, 201).status().message(), HasSubstr("asks for 101 more"));
  EXPECT_TRUE(submit("bob", 1, 160)->joined());
  // The sixty that follow are bob's job now.
  EXPECT_THAT(submit("bob", 2, 10).status().message(), HasSubstr("bob has 1 jobs running"));
}

TEST_F(TunerTest, QuotasChangeWhileJobsRun) {
  quotas_ = *Quotas::Parse(R"({"default": {"running_jobs": 1}})");
  Restart();
  const auto submit = [this](const char* user, uint64_t seed) {
    return tuner_->Submit(WithSeed(Request(20), seed), Submitter(user));
  };
  const Result<proto::SubmitJobReply> first = submit("ada", 1);
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(submit("ada", 2).ok());
  tuner_->SetQuotas(*Quotas::Parse(R"({"default": {"running_jobs": 2, "weight": 3}})"));
  const Result<proto::SubmitJobReply> second = submit("ada", 2);
  ASSERT_TRUE(second.ok()) << second.status().ToString();
  EXPECT_FALSE(submit("ada", 3).ok());
  tuner_->SetQuotas(*Quotas::Parse(R"({"default": {"running_jobs": 0}})"));
  EXPECT_FALSE(submit("bob", 4).ok());
  Work(first->job());
  Work(second->job());
  EXPECT_EQ(tuner_->Progress(second->job())->state(), proto::DONE) << "what runs already goes on";
}

TEST_F(TunerTest, NoListIsOfAllJobsThatEverWere) {
  db::JobRow job;
  job.target = target::Target().ToText();
  job.state = db::JobState::kDone;
  for (uint64_t n = 0; n < 10'050; ++n) {
    job.id = Digest{3, n};
    job.created_us = static_cast<int64_t>(n);
    ASSERT_TRUE(log_->PutJob(job).ok());
  }
  proto::ListJobsRequest all;
  all.set_limit(INT32_MAX);
  EXPECT_EQ(tuner_->List(all)->jobs_size(), 10'000);
  EXPECT_EQ(tuner_->List({})->jobs_size(), 100);
}

TEST_F(TunerTest, ListsAndDescribesRunningAndEndedJobs) {
  proto::SubmitJobRequest request = Request(8);
  request.set_user("ada");
  request.mutable_options()->set_priority(7);
  const std::string ended = tuner_->Submit(request, Caller::Local())->job();
  Work(ended);
  const std::string running = tuner_->Submit(WithSeed(request, 9), Submitter("bob"))->job();
  Work(running, 3);
  while (tuner_->Progress(running)->trials() < 3) std::this_thread::yield();
  const auto list = tuner_->List({});
  ASSERT_EQ(list->jobs_size(), 2);
  EXPECT_EQ(list->jobs(0).job(), running) << "newest first";
  EXPECT_EQ(list->jobs(0).state(), proto::RUNNING);
  EXPECT_EQ(list->jobs(0).owner(), "bob") << "not whoever the request says";
  EXPECT_GE(list->jobs(0).trials(), 3);
  EXPECT_EQ(list->jobs(0).trials_wanted(), 8);
  EXPECT_EQ(list->jobs(1).state(), proto::DONE);
  EXPECT_EQ(list->jobs(1).owner(), "ada");
  EXPECT_EQ(list->jobs(1).priority(), 7);
  proto::ListJobsRequest few;
  few.set_limit(1);
  EXPECT_EQ(tuner_->List(few)->jobs_size(), 1);
  const auto described = tuner_->Describe(ended);
  ASSERT_TRUE(described.ok()) << described.status().ToString();
  ASSERT_EQ(described->tasks_size(), 2);
  EXPECT_EQ(described->tasks(1).workload(), request.tasks(1).workload());
  EXPECT_EQ(described->summary().state(), proto::DONE);
  EXPECT_EQ(described->options().trials(), 8);
  EXPECT_EQ(described->options().priority(), 7);
  EXPECT_EQ(tuner_->Describe("00").status().code(), StatusCode::kNotFound);
  request.set_user("a b");
  EXPECT_EQ(tuner_->Submit(WithSeed(request, 1), Caller::Local()).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::server
