// The contract of every implementation of db::TuningLog, run on each of them.
#include "db/tuning_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "db/sqlite/sqlite_log.h"
#include "tests/support/db/full_record.h"
#include "tests/support/db/memory_log.h"

namespace mlc::db {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Kind {
  const char* name;
  Result<std::unique_ptr<TuningLog>> (*open)(const std::string& path);
};

WorkloadRow MakeWorkload(const std::string& text) {
  return {mlc::DigestOf(std::string_view(text)), text, "summary of " + text};
}

Record MakeRecord(int n, double median, const WorkloadRow& workload) {
  Record record;
  record.task_uid = mlc::DigestOf("uid " + std::to_string(n));
  record.job_id = mlc::DigestOf(std::string_view("study"));
  record.workload = workload.key;
  record.target = "cpu avx512 threads=2";
  record.config = "contraction/1 mr=" + std::to_string(n);
  record.measurement.outcome = Outcome::kOk;
  record.measurement.median_ns = median;
  record.measurement.p10_ns = median * 0.9;
  record.measurement.p90_ns = median * 1.1;
  record.measurement.runs = 31;
  record.toolchain = "llvm-19";
  record.worker = "w0";
  record.arm = "random";
  record.seed = ~uint64_t{0};
  record.created_us = 1'700'000'000'000'000 + n;
  return record;
}

class TuningLogTest : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "/conformance-" + GetParam().name + ".db";
    Remove();
    auto log = GetParam().open(path_);
    ASSERT_TRUE(log.ok()) << log.status().ToString();
    log_ = *std::move(log);
    ASSERT_TRUE(log_->AddWorkload(first_).ok());
  }
  void TearDown() override {
    log_.reset();
    Remove();
  }
  void Remove() {
    for (const char* suffix : {"", "-wal", "-shm", ".lock"})
      std::filesystem::remove(path_ + suffix);
  }
  Appended Add(const Record& record) {
    Result<Appended> appended = AppendAndWait(*log_, record);
    EXPECT_TRUE(appended.ok()) << appended.status().ToString();
    return appended.ok() ? *appended : Appended::kDuplicate;
  }

  std::string path_;
  std::unique_ptr<TuningLog> log_;
  WorkloadRow first_ = MakeWorkload("workload one");
};

TEST_P(TuningLogTest, ReturnsARecordWithEveryField) {
  const Record record = tests::FullRecord(MakeRecord(1, 1234.5, first_));
  EXPECT_EQ(Add(record), Appended::kNew);
  auto found = log_->Find(record.task_uid);
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((**found).id, 1);
  EXPECT_EQ(tests::TextsOf(**found), tests::TextsOf(record));
  EXPECT_EQ(DigestOf(**found), DigestOf(record));
}

TEST_P(TuningLogTest, ReturnsConfigsThatBringALongSource) {
  const std::string most = "user_kernel/1 source=" + std::string((size_t{3} << 19) - 21, 'x');
  const std::string least = "user_kernel/1 source=" + std::string(8192 - 21, 'y');
  for (int n = 0; n < 4; ++n) {
    Record record = MakeRecord(n, 100 + n, first_);
    record.config = n < 2 ? most : n == 2 ? least : "user_kernel/1 source=z";
    if (n == 1) record.arm = kConfirmationArm;
    EXPECT_EQ(Add(record), Appended::kNew);
  }
  const auto best = log_->Best(first_.key, "cpu avx512 threads=2", 4);
  ASSERT_TRUE(best.ok()) << best.status().ToString();
  ASSERT_EQ(best->size(), 4u);
  EXPECT_EQ((*best)[0].config, most);
  EXPECT_EQ((*best)[1].config, most);
  EXPECT_EQ((*best)[2].config, least);
  EXPECT_EQ((*best)[3].config, "user_kernel/1 source=z");
  EXPECT_EQ((*log_->Find(MakeRecord(1, 1, first_).task_uid))->config, most);
  EXPECT_EQ(log_->Confirmations(first_.key, "cpu avx512 threads=2")->at(0).config, most);
  EXPECT_EQ(log_->List({})->at(2).config, least);
  for (const std::string& refused : {most + "x", "contraction/1 mr=" + std::string(8192, '1'),
                                     std::string("user_kernel/1 #abc")}) {
    Record record = MakeRecord(9, 100, first_);
    record.config = refused;
    EXPECT_EQ(AppendAndWait(*log_, record).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST_P(TuningLogTest, TheFirstRecordOfATaskWins) {
  EXPECT_EQ(Add(MakeRecord(1, 100, first_)), Appended::kNew);
  EXPECT_EQ(Add(MakeRecord(1, 50, first_)), Appended::kDuplicate);
  auto best = log_->Best(first_.key, "cpu avx512 threads=2", 5);
  ASSERT_TRUE(best.ok());
  ASSERT_EQ(best->size(), 1u);
  EXPECT_EQ(best->front().measurement.median_ns, 100);
}

TEST_P(TuningLogTest, BestIsSortedLimitedFilteredAndPerTarget) {
  for (int n = 0; n < 10; ++n) Add(MakeRecord(n, 100.0 + (n * 7) % 10, first_));
  Record other = MakeRecord(50, 1, first_);
  other.target = "cpu avx2 threads=2";
  Add(other);
  Record failed = MakeRecord(51, 0, first_);
  failed.measurement = Measurement();
  failed.measurement.outcome = Outcome::kRunError;
  failed.measurement.detail = "SIGSEGV";
  Add(failed);
  Record slow = MakeRecord(52, 2, first_);
  slow.measurement.outcome = Outcome::kTooSlow;
  Add(slow);
  auto times = [](const Result<std::vector<Record>>& records) {
    std::vector<double> times;
    for (const Record& record : *records) times.push_back(record.measurement.median_ns);
    return times;
  };
  EXPECT_THAT(times(log_->Best(first_.key, "cpu avx512 threads=2", 3)), ElementsAre(100, 101, 102));
  auto odd = [](const Record& r) { return static_cast<int>(r.measurement.median_ns) % 2 == 1; };
  EXPECT_THAT(times(log_->Best(first_.key, "cpu avx512 threads=2", 2, odd)), ElementsAre(101, 103));
  EXPECT_THAT(times(log_->Best(first_.key, "cpu avx2 threads=2", 3)), ElementsAre(1));
  EXPECT_TRUE(log_->Best(first_.key, "cpu neon", 3)->empty());
}

TEST_P(TuningLogTest, ConfirmationsAreCorrectRecordsOfTheirArm) {
  for (int n = 1; n <= 4; ++n) {
    Record record = MakeRecord(n, 1000.0 * n, first_);
    if (n % 2 == 0) record.arm = kConfirmationArm;
    if (n == 4) record.target = "cpu avx2 threads=2";
    Add(record);
  }
  const auto confirmations = log_->Confirmations(first_.key, "cpu avx512 threads=2");
  ASSERT_TRUE(confirmations.ok()) << confirmations.status().ToString();
  ASSERT_EQ(confirmations->size(), 1u);
  EXPECT_EQ(confirmations->front().measurement.median_ns, 2000);
}

TEST_P(TuningLogTest, OfManyConfirmationsTheNewestAreRead) {
  for (int n = 0; n < static_cast<int>(kMostConfirmations) + 3; ++n) {
    Record record = MakeRecord(n, 1000, first_);
    record.arm = kConfirmationArm;
    log_->Append(record, [](const Result<Appended>& appended) { EXPECT_TRUE(appended.ok()); });
  }
  ASSERT_TRUE(log_->Flush().ok());
  const auto confirmations = log_->Confirmations(first_.key, "cpu avx512 threads=2");
  ASSERT_TRUE(confirmations.ok()) << confirmations.status().ToString();
  ASSERT_EQ(static_cast<int64_t>(confirmations->size()), kMostConfirmations);
  EXPECT_EQ(confirmations->front().id, 4);
  EXPECT_EQ(confirmations->back().id, kMostConfirmations + 3);
}

// Not in the order in which they came, but in that of their moments and ids.
TEST_P(TuningLogTest, TheOrderOfInsertionDecidesNothing) {
  std::vector<Record> records;
  for (int n = 0; n < static_cast<int>(kMostConfirmations) + 40; ++n) {
    records.push_back(MakeRecord(n, 1000 + n % 2, first_));
    records.back().arm = kConfirmationArm;
    records.back().created_us = n / 8;
  }
  const auto uids = [](const Result<std::vector<Record>>& found) {
    std::vector<std::string> texts;
    for (const Record& record : *found) texts.push_back(record.task_uid.ToText());
    return texts;
  };
  std::vector<std::string> best, confirmations;
  for (int round = 0; round < 2; ++round) {
    for (const Record& record : records) log_->Append(record, [](const Result<Appended>&) {});
    ASSERT_TRUE(log_->Flush().ok());
    const auto best_now = uids(log_->Best(first_.key, "cpu avx512 threads=2", 300));
    auto confirmations_now = uids(log_->Confirmations(first_.key, "cpu avx512 threads=2"));
    std::sort(confirmations_now.begin(), confirmations_now.end());
    ASSERT_EQ(best_now.size(), 300u);
    if (round == 1) {
      EXPECT_EQ(best_now, best);
      EXPECT_EQ(confirmations_now, confirmations);
    }
    best = best_now;
    confirmations = confirmations_now;
    std::reverse(records.begin(), records.end());
    log_.reset();
    Remove();
    log_ = *GetParam().open(path_);
    ASSERT_TRUE(log_->AddWorkload(first_).ok());
  }
}

TEST_P(TuningLogTest, RefusesRecordsThatCannotBeTrue) {
  auto refused = [&](auto&& change) {
    Record record = MakeRecord(1, 100, first_);
    change(record);
    Result<Appended> appended = AppendAndWait(*log_, record);
    EXPECT_EQ(appended.status().code(), StatusCode::kInvalidArgument);
    return appended.status().message();
  };
  EXPECT_THAT(refused([](Record& r) { r.measurement.median_ns = -1; }), HasSubstr("time"));
  EXPECT_THAT(refused([](Record& r) { r.measurement.median_ns = 0.0 / 0.0; }), HasSubstr("time"));
  EXPECT_THAT(refused([](Record& r) { r.measurement.median_ns = 1e13; }), HasSubstr("time"));
  EXPECT_THAT(refused([](Record& r) { r.floor_ns = 1e6; }), HasSubstr("device"));
  EXPECT_THAT(refused([](Record& r) { r.measurement.runs = 2; }), HasSubstr("3 runs"));
  EXPECT_THAT(refused([](Record& r) { r.measurement.p10_ns = 200; }), HasSubstr("p10"));
  EXPECT_THAT(refused([](Record& r) { r.measurement.outcome = Outcome::kInfra; }),
              HasSubstr("infra is not stored"));
  EXPECT_THAT(refused([](Record& r) { r.measurement.outcome = Outcome::kWrongResult; }),
              HasSubstr("a failure has a time"));
  EXPECT_THAT(refused([](Record& r) { r.config = "no version"; }), HasSubstr("family/version"));
  EXPECT_THAT(refused([](Record& r) { r.workload = Digest{1, 2}; }), HasSubstr("not in the log"));
  EXPECT_EQ(log_->Stats()->records, 0);
  EXPECT_EQ(Add(MakeRecord(1, 100, first_)), Appended::kNew);
}

TEST_P(TuningLogTest, CallsBackInOrderAfterTheCommit) {
  std::vector<int> order;
  for (int n = 0; n < 500; ++n) {
    log_->Append(MakeRecord(n, 100, first_), [&order, n](const Result<Appended>& appended) {
      ASSERT_TRUE(appended.ok());
      order.push_back(n);
    });
  }
  ASSERT_TRUE(log_->Flush().ok());
  ASSERT_EQ(order.size(), 500u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(log_->Stats()->records, 500);
}

TEST_P(TuningLogTest, AppendsFromManyThreads) {
  std::atomic<int> added = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 100; ++n) {
        log_->Append(MakeRecord(n + 50 * t, 100, first_), [&](const Result<Appended>& appended) {
          added += appended.ok() && *appended == Appended::kNew ? 1 : 0;
        });
      }
    });
  }
  threads.clear();
  ASSERT_TRUE(log_->Flush().ok());
  EXPECT_EQ(added.load(), 250);
  EXPECT_EQ(log_->Stats()->by_outcome[0], 250);
}

TEST_P(TuningLogTest, ListFilters) {
  for (int n = 0; n < 10; ++n) {
    Record record = MakeRecord(n, 100, first_);
    if (n % 2 == 1) record.job_id = Digest{7, 7};
    Add(record);
  }
  RecordQuery query;
  query.job_id = Digest{7, 7};
  EXPECT_EQ(log_->List(query)->size(), 5u);
  query.after_id = 4;
  query.up_to_id = 8;
  auto records = log_->List(query);
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ(records->front().id, 6);
  query.limit = 1;
  EXPECT_EQ(log_->List(query)->size(), 1u);
  query = RecordQuery();
  query.outcome = Outcome::kRunError;
  EXPECT_TRUE(log_->List(query)->empty());
  query = RecordQuery();
  query.workload = first_.key;
  query.target = "cpu avx512 threads=2";
  EXPECT_EQ(log_->List(query)->size(), 10u);
  query.limit = 3;
  query.newest = true;
  query.up_to_id = 9;
  records = log_->List(query);
  ASSERT_EQ(records->size(), 3u);
  EXPECT_EQ(records->front().id, 7) << "the last ones, in order";
  EXPECT_EQ(records->back().id, 9);
}

TEST_P(TuningLogTest, WorkloadsAreAddedOnceAndKeyed) {
  EXPECT_TRUE(log_->AddWorkload(first_).ok());
  EXPECT_EQ(log_->Workloads()->size(), 1u);
  WorkloadRow forged = first_;
  forged.text = "another text";
  EXPECT_EQ(log_->AddWorkload(forged).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ((**log_->FindWorkload(first_.key)).summary, first_.summary);
  EXPECT_FALSE(*log_->FindWorkload(Digest{1, 1}));
  const std::string text = "workload v1 that came later";
  ASSERT_TRUE(log_->AddWorkload({mlc::DigestOf(std::string_view(text)), text, "later"}).ok());
  const auto later = log_->Workloads((**log_->FindWorkload(first_.key)).id);
  ASSERT_EQ(later->size(), 1u);
  EXPECT_EQ(later->front().text, text);
  EXPECT_TRUE(log_->Workloads(later->front().id)->empty());
  ASSERT_EQ(log_->Workloads(0, 1)->size(), 1u);
  EXPECT_EQ(log_->Workloads(0, 1)->front().key, first_.key);
}

TEST_P(TuningLogTest, JobsAreReplacedWithTheirTasks) {
  JobRow job;
  job.id = Digest{3, 4};
  job.label = "resnet50";
  job.target = "target text";
  job.options = "trials=10";
  job.tasks = {{first_.key, 3, "conv1"}};
  ASSERT_TRUE(log_->PutJob(job).ok());
  job.state = JobState::kDone;
  job.trials = 10;
  job.tasks.push_back({first_.key, 1, "conv2"});
  ASSERT_TRUE(log_->PutJob(job).ok());
  auto found = log_->FindJob(job.id);
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_EQ((**found).state, JobState::kDone);
  EXPECT_EQ((**found).trials, 10);
  ASSERT_EQ((**found).tasks.size(), 2u);
  EXPECT_EQ((**found).tasks[1].label, "conv2");
  EXPECT_EQ(log_->Jobs()->size(), 1u);
  job.tasks.push_back({Digest{9, 9}, 1, "unknown"});
  EXPECT_EQ(log_->PutJob(job).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ((**log_->FindJob(job.id)).tasks.size(), 2u);
}

TEST_P(TuningLogTest, JobsKeepWhoseTheyAreAndHowTheyEnded) {
  JobRow job;
  job.id = Digest{3, 4};
  job.target = "target text";
  job.owner = "ada";
  job.priority = -7;
  job.spent_ms = 1234;
  job.changed_us = 5;
  job.progress = "{\"trials\": 3}";
  ASSERT_TRUE(log_->PutJob(job).ok());
  const JobRow found = **log_->FindJob(job.id);
  EXPECT_EQ(found.owner, "ada");
  EXPECT_EQ(found.priority, -7);
  EXPECT_EQ(found.spent_ms, 1234);
  EXPECT_EQ(found.changed_us, 5);
  EXPECT_EQ(found.progress, job.progress);
}

TEST_P(TuningLogTest, AJobAndItsWorkloadsAreOneWrite) {
  const std::string text = "workload v1 of a job";
  const WorkloadRow workload{mlc::DigestOf(std::string_view(text)), text, "one"};
  JobRow job;
  job.id = Digest{3, 4};
  job.target = "target text";
  job.tasks = {{workload.key, 1, "a"}, {Digest{9, 9}, 1, "unknown"}};
  EXPECT_EQ(log_->PutJob(job, std::span(&workload, 1)).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(*log_->FindWorkload(workload.key)) << "nothing of it is there";
  EXPECT_FALSE(*log_->FindJob(job.id));
  job.tasks.pop_back();
  const WorkloadRow forged{Digest{7, 7}, text, "one"};
  EXPECT_EQ(log_->PutJob(job, std::span(&forged, 1)).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(log_->PutJob(job, std::span(&workload, 1)).ok());
  EXPECT_EQ((**log_->FindWorkload(workload.key)).text, text);
  EXPECT_EQ((**log_->FindJob(job.id)).tasks.size(), 1u);
}

TEST_P(TuningLogTest, JobsAreFoundByWhatTheyAskFor) {
  for (uint64_t n = 0; n < 6; ++n) {
    JobRow job;
    job.id = Digest{5, n};
    job.target = "target text";
    job.created_us = static_cast<int64_t>(n);
    job.base = Digest{5, n % 2};
    job.crashes = static_cast<int32_t>(n);
    ASSERT_TRUE(log_->PutJob(job).ok());
  }
  const auto of_one = log_->Jobs({.state = {}, .limit = 1, .base = Digest{5, 1}});
  ASSERT_EQ(of_one->size(), 1u);
  EXPECT_EQ(of_one->front().id, (Digest{5, 5})) << "the newest";
  EXPECT_EQ(of_one->front().base, (Digest{5, 1}));
  EXPECT_EQ(of_one->front().crashes, 5);
  EXPECT_EQ(log_->Jobs({.state = {}, .base = Digest()})->size(), 0u);
  EXPECT_EQ(log_->Jobs({.state = JobState::kDone, .base = Digest{5, 1}})->size(), 0u);
}

TEST_P(TuningLogTest, JobsAreAskedByStateNewestFirst) {
  for (int n = 0; n < 6; ++n) {
    JobRow job;
    job.id = Digest{0, static_cast<uint64_t>(n)};
    job.target = "target text";
    job.state = n % 2 == 0 ? JobState::kRunning : JobState::kDone;
    job.created_us = n;
    job.tasks = {{first_.key, 1, "conv"}};
    ASSERT_TRUE(log_->PutJob(job).ok());
  }
  auto running = log_->Jobs({.state = JobState::kRunning, .limit = 2, .with_tasks = true});
  ASSERT_EQ(running->size(), 2u);
  EXPECT_EQ(running->front().created_us, 4);
  EXPECT_EQ(running->back().created_us, 2);
  EXPECT_EQ(running->back().tasks.size(), 1u);
  EXPECT_TRUE(log_->Jobs({.state = {}, .with_tasks = false})->front().tasks.empty());
  EXPECT_EQ(log_->Jobs()->size(), 6u);
}

TEST_P(TuningLogTest, SaysHowFarItHasCome) {
  EXPECT_EQ(log_->Now()->last_id, 0);
  for (int n = 0; n < 3; ++n) Add(MakeRecord(n, 100, first_));
  ASSERT_TRUE(log_->SaveModel({"a", "cpu", Digest{1, 1}, "bytes", 5}).ok());
  EXPECT_EQ(log_->Now()->last_id, 3);
  EXPECT_EQ(log_->Now()->last_model_id, log_->Stats()->last_model_id);
  EXPECT_EQ(log_->Now()->last_workload_id, 1);
}

TEST_P(TuningLogTest, ModelsAreKeptPerFamilyTargetAndFeatures) {
  ModelRow model{"contraction", "cpu", Digest{1, 1}, std::string("a\0b", 3), 5};
  ASSERT_TRUE(log_->SaveModel(model).ok());
  model.bytes = "newer";
  ASSERT_TRUE(log_->SaveModel(model).ok());
  model.features = Digest{2, 2};
  ASSERT_TRUE(log_->SaveModel(model).ok());
  auto models = log_->Models("cpu");
  ASSERT_TRUE(models.ok());
  ASSERT_EQ(models->size(), 2u);
  EXPECT_EQ(models->front().bytes, "newer");
  EXPECT_TRUE(log_->Models("gpu")->empty());
  EXPECT_EQ(log_->Stats()->models, 2);
}

TEST_P(TuningLogTest, OlderVersionsOfModelsAreKeptWhilePinned) {
  const auto save = [this](const char* family, const char* bytes) {
    EXPECT_TRUE(log_->SaveModel({family, "cpu", Digest{1, 1}, bytes, 5}).ok());
    return log_->Stats()->last_model_id;
  };
  const auto as_of = [this](int64_t id) {
    std::string text;
    for (const ModelRow& model : *log_->Models("cpu", id)) text += model.bytes + " ";
    return text;
  };
  const int64_t first = save("a", "a1");
  const int64_t second = save("b", "b1");
  const int64_t third = save("a", "a2");
  EXPECT_EQ(save("a", "a2"), third) << "the same again is no new version";
  const int64_t fourth = save("a", "a3");
  EXPECT_EQ(as_of(0), "");
  EXPECT_EQ(as_of(first), "a1 ");
  EXPECT_EQ(as_of(second), "a1 b1 ");
  EXPECT_EQ(as_of(third), "a2 b1 ");
  EXPECT_EQ(as_of(INT64_MAX), "a3 b1 ");
  const int64_t pinned[] = {second, 0};
  EXPECT_TRUE(log_->PruneModels(pinned).ok());
  EXPECT_EQ(as_of(second), "a1 b1 ");
  EXPECT_EQ(as_of(third), "a1 b1 ") << "no job started from it";
  EXPECT_EQ(as_of(INT64_MAX), "a3 b1 ");
  EXPECT_TRUE(log_->PruneModels({}).ok());
  EXPECT_EQ(as_of(second), "b1 ");
  EXPECT_EQ(as_of(fourth), "a3 b1 ");
  EXPECT_EQ(log_->Stats()->last_model_id, fourth);
}

TEST_P(TuningLogTest, AdminHoldsAreReplacedAndForgotten) {
  EXPECT_TRUE(log_->AdminHolds()->empty());
  ASSERT_TRUE(log_->PutAdminHold({"w", "fan 'broken'", "", "", 7}).ok());
  ASSERT_TRUE(log_->PutAdminHold({"v", "", "moves", "incarnation 1", 8}).ok());
  ASSERT_TRUE(log_->PutAdminHold({"w", "disk broken", "moves", "incarnation 2", 9}).ok());
  const auto holds = log_->AdminHolds();
  ASSERT_TRUE(holds.ok());
  ASSERT_EQ(holds->size(), 2u);
  EXPECT_EQ(holds->front().worker, "v");
  EXPECT_EQ(holds->front().incarnation, "incarnation 1");
  EXPECT_EQ(holds->back().quarantine, "disk broken");
  EXPECT_EQ(holds->back().drain, "moves");
  EXPECT_EQ(holds->back().changed_us, 9);
  ASSERT_TRUE(log_->PutAdminHold({"w", "", "", "", 10}).ok());
  ASSERT_TRUE(log_->PutAdminHold({"nobody", "", "", "", 10}).ok());
  EXPECT_EQ(log_->AdminHolds()->size(), 1u);
  EXPECT_EQ(log_->PutAdminHold({"", "why", "", "", 1}).code(), StatusCode::kInvalidArgument);
}

Result<std::unique_ptr<TuningLog>> OpenMemory(const std::string&) { return MakeMemoryLog(); }

Result<std::unique_ptr<TuningLog>> OpenDisk(const std::string& path) { return OpenSqliteLog(path); }

INSTANTIATE_TEST_SUITE_P(Logs, TuningLogTest,
                         ::testing::Values(Kind{"sqlite", OpenDisk}, Kind{"memory", OpenMemory}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace mlc::db
