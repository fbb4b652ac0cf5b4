// The tuner on a log in memory, with a worker that is a function.
#include "server/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <filesystem>
#include <future>

#include "db/memory_log.h"
#include "db/sqlite_log.h"
#include "server/protocol.h"
#include "tests/unit/db/faulty_disk.h"
#include "tests/unit/server/fake_strategy.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

std::string TargetText() {
  target::Target target;
  target.fma_gflops = 100;
  target.copy_gbps = 10;
  return target.ToText();
}

class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override { Restart(); }

  void Restart() {
    tuner_.reset();
    TunerOptions options;
    options.logger =
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    options.terms.lease_ms = lease_ms_;
    options.strategy = [this](SearchInput input) {
      priors_ = input.tasks[0].prior.size();
      related_ = input.related.size();
      models_ = input.models.size();
      knowledge_ = KnowledgeOf(input);
      return std::make_unique<FakeStrategy>(std::move(input), configs_, story_);
    };
    tuner_ = std::make_unique<Tuner>(*log_, std::move(options));
    ASSERT_TRUE(tuner_->Start().ok());
  }

  static std::string KnowledgeOf(const SearchInput& input) {
    std::string text;
    for (const SearchTask& task : input.tasks) {
      for (const PriorTrial& trial : task.prior) text += trial.config.ToText() + "\n";
    }
    for (const RelatedWorkload& related : input.related) {
      text += related.workload.ToText() + "\n";
      for (const PriorTrial& trial : related.best) text += trial.config.ToText() + "\n";
    }
    for (const SavedModel& model : input.models) text += model.family + model.bytes + "\n";
    return text;
  }

  // What a job with these tasks knew, and all that its search did.
  struct Course {
    std::string knowledge;
    std::string story;
    bool operator==(const Course&) const = default;
  };
  // One whole job; with `limit`, cancelled after so many results.
  Course RunJob(uint64_t seed, std::vector<int64_t> sizes, int64_t limit = INT64_MAX) {
    story_ = std::make_shared<std::string>();
    proto::SubmitJobRequest request = Request(40);
    request.mutable_options()->set_seed(seed);
    request.clear_tasks();
    for (int64_t size : sizes) {
      proto::Task& task = *request.add_tasks();
      task.set_workload(MakeWorkload(size).ToText());
      task.set_occurrences(1);
    }
    const std::string job = tuner_->Submit(request)->job();
    Work(job, limit);
    if (limit != INT64_MAX) {
      EXPECT_TRUE(tuner_->Cancel(job).ok());
    }
    Work(job);
    return {knowledge_, *story_};
  }

  static proto::SubmitJobRequest Request(int64_t trials) {
    proto::SubmitJobRequest request;
    for (int64_t size : {8, 16}) {
      proto::Task& task = *request.add_tasks();
      task.set_workload(MakeWorkload(size).ToText());
      task.set_occurrences(1);
    }
    request.set_target(target::Target().ToText());
    request.mutable_options()->set_trials(trials);
    request.mutable_options()->set_batch(4);
    request.set_label("test model");
    return request;
  }

  std::string Submit(int64_t trials) {
    auto reply = tuner_->Submit(Request(trials));
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply->job();
  }

  Result<proto::SynchronizeReply> Call(const proto::SynchronizeRequest& request) {
    std::promise<Result<proto::SynchronizeReply>> promise;
    tuner_->Synchronize(request, [&](Result<proto::SynchronizeReply> reply) {
      promise.set_value(std::move(reply));
    });
    return promise.get_future().get();
  }

  static proto::SynchronizeRequest Hello() {
    proto::SynchronizeRequest request;
    request.set_protocol(kWireProtocol);
    request.set_worker("w0");
    request.set_boot("1");
    request.set_build("test-build");
    request.set_target(TargetText());
    request.set_want(3);
    return request;
  }

  // Runs trials until the job ends or `limit` results are acknowledged.
  int64_t Work(const std::string& job, int64_t limit = INT64_MAX) {
    int64_t acknowledged = 0;
    proto::SynchronizeRequest request = Hello();
    while (acknowledged < limit) {
      auto reply = Call(request);
      EXPECT_TRUE(reply.ok()) << reply.status().ToString();
      acknowledged += reply->acknowledged_size();
      request.clear_finished();
      for (const proto::Lease& lease : reply->leases()) {
        proto::TrialResult& result = *request.add_finished();
        result.set_task_uid(lease.task_uid());
        const auto config = schedule::Config::Parse(lease.config());
        *result.mutable_measurement() = ToWire(FakeMeasurement((*config)["x"]));
      }
      if (tuner_->Progress(job)->state() != proto::RUNNING) break;
      if (reply->leases_size() == 0) std::this_thread::yield();
    }
    return acknowledged;
  }

  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  int64_t configs_ = 1000;
  int64_t lease_ms_ = 30'000;
  std::shared_ptr<std::string> story_ = std::make_shared<std::string>();
  size_t priors_ = 0;
  size_t related_ = 0;
  size_t models_ = 0;
  std::string knowledge_;
  std::unique_ptr<Tuner> tuner_;
};

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
  auto reply = tuner_->Submit(Request(20));
  EXPECT_TRUE(reply->resumed());
  EXPECT_EQ(Work(reply->job()), 8);
  EXPECT_EQ(log_->Stats()->records, 20);
}

TEST_F(TunerTest, AFreshJobIgnoresTheLogAndOthersUseIt) {
  EXPECT_EQ(Work(Submit(12)), 12);
  proto::SubmitJobRequest request = Request(8);
  request.mutable_options()->set_fresh(true);
  EXPECT_EQ(Work(tuner_->Submit(request)->job()), 8);
  EXPECT_EQ(priors_, 0u);
  EXPECT_EQ(models_, 0u);
  request = Request(8);
  request.mutable_options()->set_seed(7);
  request.mutable_tasks()->RemoveLast();
  EXPECT_EQ(Work(tuner_->Submit(request)->job()), 8);
  EXPECT_EQ(priors_, 10u);
  EXPECT_EQ(related_, 1u);
  EXPECT_EQ(models_, 1u);
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

TEST_F(TunerTest, TheCommandWithoutFreshGoesOnWithAFreshJob) {
  EXPECT_EQ(Work(Submit(12)), 12);
  proto::SubmitJobRequest request = Request(40);
  request.mutable_options()->set_fresh(true);
  const std::string fresh = tuner_->Submit(request)->job();
  const int64_t before = Work(fresh, 9);
  ASSERT_TRUE(tuner_->Cancel(fresh).ok());
  const int64_t during = Work(fresh);
  const auto reply = tuner_->Submit(Request(40));
  EXPECT_TRUE(reply->resumed());
  EXPECT_EQ(reply->job(), fresh);
  EXPECT_EQ(before + during + Work(fresh), 40);
  EXPECT_EQ(knowledge_, "") << "it still knows nothing";
}

TEST_F(TunerTest, CancelKeepsResultsAndResumes) {
  const std::string job = Submit(100);
  const int64_t before = Work(job, 9);
  ASSERT_TRUE(tuner_->Cancel(job).ok());
  const int64_t during = Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::CANCELLED);
  EXPECT_EQ(log_->Jobs()->front().state, db::JobState::kCancelled);
  EXPECT_TRUE(tuner_->Submit(Request(100))->resumed());
  EXPECT_EQ(before + during + Work(job), 100);
  EXPECT_EQ(tuner_->Cancel("ff").code(), StatusCode::kNotFound);
}

TEST_F(TunerTest, InfrastructureFailuresAreRetriedAndNeverStored) {
  const std::string job = Submit(1);
  proto::SynchronizeRequest request = Hello();
  int attempts = 0;
  while (tuner_->Progress(job)->state() == proto::RUNNING) {
    auto reply = Call(request);
    ASSERT_TRUE(reply.ok());
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      EXPECT_EQ(lease.attempt(), ++attempts);
      // No outcome at all must not count as success.
      request.add_finished()->set_task_uid(lease.task_uid());
    }
  }
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(log_->Stats()->records, 0);
  EXPECT_EQ(tuner_->Progress(job)->outcomes(7), 1);
  EXPECT_THAT(*story_, HasSubstr("learn 0:infra"));
}

TEST_F(TunerTest, ImpossibleResultsAreRetriedNotStored) {
  const std::string job = Submit(1);
  proto::SynchronizeRequest request = Hello();
  while (tuner_->Progress(job)->state() == proto::RUNNING) {
    auto reply = Call(request);
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      Measurement lie = FakeMeasurement(0);
      lie.median_ns = lie.p10_ns = lie.p90_ns = 1e-6;
      *result.mutable_measurement() = ToWire(lie);
    }
  }
  EXPECT_EQ(log_->Stats()->records, 0);
}

TEST_F(TunerTest, DuplicatesAreAcknowledgedAndStoredOnce) {
  const std::string job = Submit(3);
  proto::SynchronizeRequest request = Hello();
  while (request.finished_size() == 0) {
    const auto reply = Call(request);
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = ToWire(FakeMeasurement(0));
    }
  }
  EXPECT_EQ(Call(request)->acknowledged_size(), 3);
  EXPECT_EQ(Call(request)->acknowledged_size(), 3);
  EXPECT_EQ(log_->Stats()->records, 3);
}

TEST_F(TunerTest, AWorkerThatDiesLosesItsLease) {
  lease_ms_ = 100;
  Restart();
  const std::string job = Submit(6);
  proto::SynchronizeRequest dead = Hello();
  dead.set_worker("dead");
  while (Call(dead)->leases_size() == 0) dead.clear_holding();
  EXPECT_EQ(Work(job), 6);
}

TEST_F(TunerTest, ADrainingServerGivesNoLeasesAndKeepsTheJob) {
  const std::string job = Submit(100);
  Work(job, 5);
  tuner_->Drain(0);
  auto reply = Call(Hello());
  EXPECT_TRUE(reply->drain());
  EXPECT_EQ(reply->leases_size(), 0);
  EXPECT_EQ(tuner_->Submit(Request(5)).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(log_->Jobs()->front().state, db::JobState::kRunning);
}

TEST_F(TunerTest, RefusesBadRequestsInWords) {
  auto refused = [this](auto&& change) {
    proto::SubmitJobRequest request = Request(5);
    change(request);
    const Status status = tuner_->Submit(request).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(refused([](auto& r) { r.mutable_options()->set_trials(0); }), HasSubstr("trials"));
  EXPECT_THAT(refused([](auto& r) { r.clear_tasks(); }), HasSubstr("no tasks"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_tasks(1)->set_workload("x"); }), HasSubstr("task 1"));
  EXPECT_THAT(refused([](auto& r) { *r.mutable_tasks(1) = r.tasks(0); }),
              HasSubstr("same workload"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_tasks(0)->set_occurrences(0); }),
              HasSubstr("occurrences"));
  EXPECT_FALSE(refused([](auto& r) { r.set_target("toaster"); }).empty());
  proto::SynchronizeRequest request = Hello();
  request.set_protocol(2);
  EXPECT_EQ(Call(request).status().code(), StatusCode::kFailedPrecondition);
  request = Hello();
  request.set_target("toaster");
  EXPECT_THAT(Call(request).status().message(), HasSubstr("worker's target"));
}

TEST_F(TunerTest, AFullDiskIsToldAndTheJobGoesOnWhenThereIsSpace) {
  const std::string path = ::testing::TempDir() + "/mlc-tuner-full.db";
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path + suffix);
  db::FaultyDisk disk;
  tuner_.reset();
  log_ = *db::OpenSqliteLog(path);
  Restart();
  const std::string job = Submit(20);
  const int64_t before = Work(job, 5);
  proto::SynchronizeRequest request = Hello();
  while (request.finished_size() == 0) {
    const auto reply = Call(request);
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = ToWire(FakeMeasurement(0));
    }
  }
  db::FaultyDisk::Arm(db::Fault::kFull, 1, /*for_good=*/true);
  EXPECT_EQ(Call(request).status().code(), StatusCode::kResourceExhausted);
  const Status told = tuner_->Progress(job).status();
  EXPECT_EQ(told.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(told.message(), HasSubstr("results cannot be kept"));
  EXPECT_THAT(told.message(), HasSubstr("until there is free space"));
  db::FaultyDisk::Repair();
  const auto kept = Call(request);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(kept->acknowledged_size(), request.finished_size());
  EXPECT_TRUE(tuner_->Progress(job).ok());
  const int64_t after = Work(job);
  EXPECT_EQ(before + kept->acknowledged_size() + after, 20);
  EXPECT_EQ(log_->Stats()->records, 20);
  tuner_.reset();
  log_.reset();
}

TEST_F(TunerTest, TheTimeBudgetEndsAJob) {
  proto::SubmitJobRequest request = Request(1'000'000);
  configs_ = 1'000'000;
  request.mutable_options()->set_time_budget_ms(50);
  const std::string job = tuner_->Submit(request)->job();
  EXPECT_LT(Work(job), 1'000'000);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
}

}  // namespace
}  // namespace mlc::server
