#include "tests/unit/server/tuner/year.h"

#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <future>
#include <thread>
#include <utility>

#include "base/wire/protocol.h"
#include "db/sqlite/record_rows.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite.h"
#include "server/jobs/job_request.h"
#include "tests/unit/server/tuner/fake_strategy.h"

namespace mlc::server {
namespace {

constexpr int64_t kDayMs = 24 * 3'600'000;
constexpr int kTrials = 4;
constexpr int64_t kUsers = 3;

target::Target TheTarget() {
  target::Target target;
  target.fma_gflops = 100;
  target.copy_gbps = 10;
  return target;
}

db::WorkloadRow WorkloadAt(int64_t n) {
  const graph::Workload workload = MakeWorkload(8 + 8 * n);
  return {workload.digest(), workload.ToText(), workload.Summary()};
}

db::Record RecordAt(int64_t n, const std::vector<db::WorkloadRow>& workloads,
                    const std::string& target) {
  db::Record record;
  record.task_uid = DigestOf("year's record " + std::to_string(n));
  record.job_id = DigestOf("job of a year " + std::to_string(n / 1000));
  const size_t others = workloads.size() - 1;
  const size_t place = n % 2 == 0 ? 0 : 1 + static_cast<size_t>(n / 2) % others;
  record.workload = workloads[place].key;
  record.target = target;
  record.config = "fake/1 x=" + std::to_string(1'000'000 + n);
  record.measurement = FakeMeasurement(n);
  record.measurement.median_ns += record.measurement.outcome == Outcome::kOk ? 1e4 : 0;
  record.measurement.p90_ns += 1e4;
  record.worker = "pod-" + std::to_string(n / 50);
  record.arm = n % 6 == 2 ? db::kConfirmationArm : "random";
  record.created_us = 1'000'000 + n;
  return record;
}

db::JobRow JobAt(int64_t n, const std::vector<db::WorkloadRow>& workloads) {
  JobOptions options;
  options.trials = 2000;
  options.models = 0;
  db::JobRow job;
  job.id = DigestOf("year's job " + std::to_string(n));
  job.base = job.id;
  job.label = "model-" + std::to_string(n % 40);
  job.target = TheTarget().ToText();
  job.options = options.ToText();
  job.state = n % 8 == 0 ? db::JobState::kCancelled : db::JobState::kDone;
  job.trials = 2000;
  job.created_us = 1'000'000 + n;
  job.owner = "user" + std::to_string(n % 30);
  job.progress = std::string(2'000, ' ');
  for (size_t i = 0; i < 4; ++i) {
    job.tasks.push_back({workloads[(static_cast<size_t>(n) + i) % workloads.size()].key, 1, ""});
  }
  return job;
}

proto::SynchronizeRequest HelloOf(const std::string& worker) {
  proto::SynchronizeRequest request;
  request.set_protocol(kWireProtocol);
  request.set_worker(worker);
  request.set_incarnation("1");
  request.set_build("year");
  request.set_target(TheTarget().ToText());
  for (int n = 0; n < 12; ++n) {
    request.mutable_capabilities()->add_kernels("family" + std::to_string(n) + "/1");
  }
  request.mutable_capabilities()->add_kernels("fake/1");
  return request;
}

bool Wrong(const char* what, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  return false;
}

}  // namespace

Status FillYear(const std::string& log, const YearRows& from, const YearRows& to) {
  db::Database database = MLC_TRY(db::Database::Open(log, db::OpenMode::kReadWrite));
  MLC_TRY(database.Execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF"));
  MLC_TRY(db::PrepareSchema(database, log));
  MLC_TRY(database.Execute("BEGIN"));
  std::vector<db::WorkloadRow> workloads;
  for (int n = 0; n < kYearWorkloads; ++n) workloads.push_back(WorkloadAt(n));
  for (const db::WorkloadRow& row : workloads) MLC_TRY(db::InsertWorkload(database, row));
  const std::string target = TheTarget().ClassText();
  for (int64_t n = from.records; n < to.records; ++n) {
    MLC_TRY(db::InsertRecord(database, RecordAt(n, workloads, target)).status());
  }
  for (int64_t n = from.jobs; n < to.jobs; ++n) {
    MLC_TRY(db::ReplaceJob(database, JobAt(n, workloads)));
  }
  MLC_TRY(database.Execute("COMMIT"));
  return database.Execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

Year::Year(db::TuningLog& log, int64_t first_job) : log_(log), jobs_(first_job) {
  TunerOptions options;
  options.clock = &clock_;
  options.logger =
      std::make_shared<spdlog::logger>("year", std::make_shared<spdlog::sinks::null_sink_mt>());
  options.strategy = [](SearchInput input) {
    return std::make_unique<FakeStrategy>(std::move(input), 1000, std::make_shared<std::string>());
  };
  tuner_ = std::make_unique<WireTuner>(log_, std::move(options));
  const Status started = tuner_->Start();
  if (!started.ok()) (void)Wrong("the tuner did not start", started);
}

Year::~Year() = default;

Result<proto::SynchronizeReply> Year::Call(const proto::SynchronizeRequest& request) {
  std::promise<Result<proto::SynchronizeReply>> promise;
  tuner_->Synchronize(
      request, [&](Result<proto::SynchronizeReply> reply) { promise.set_value(std::move(reply)); });
  return promise.get_future().get();
}

bool Year::Day(int names, int jobs) {
  for (int n = 0; n < names; ++n) {
    proto::SynchronizeRequest hello = HelloOf("pod-" + std::to_string(names_++));
    hello.set_want(n % 2);
    hello.set_draining(n % 2 == 0);
    const auto reply = Call(hello);
    if (!reply.ok()) return Wrong("a worker was refused", reply.status());
  }
  // Whoever is awake looks at the clock when a job comes.
  clock_.Skip(kDayMs);
  for (int n = 0; n < jobs; ++n) {
    if (!RunJob()) return false;
  }
  return true;
}

bool Year::RunJob() {
  proto::SubmitJobRequest request;
  for (const int64_t n : {int64_t{0}, 1'000 + jobs_}) {
    proto::Task& task = *request.add_tasks();
    task.set_workload(WorkloadAt(n).text);
    task.set_occurrences(1);
  }
  request.set_target(target::Target().ToText());
  request.mutable_options()->set_trials(kTrials);
  request.mutable_options()->set_batch(kTrials);
  request.mutable_options()->set_seed(static_cast<uint64_t>(++jobs_));
  request.set_user("user" + std::to_string(jobs_ % kUsers));
  const auto submitted = tuner_->Submit(request, Caller::Local());
  if (!submitted.ok()) return Wrong("a job was refused", submitted.status());
  proto::SynchronizeRequest work = HelloOf("steady");
  work.set_want(kTrials);
  while (true) {
    const auto reply = Call(work);
    if (!reply.ok()) return Wrong("the worker was refused", reply.status());
    work.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *work.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = ToWire(FakeMeasurement(0));
    }
    const auto progress = tuner_->Progress(submitted->job());
    if (!progress.ok()) return Wrong("a job cannot be watched", progress.status());
    if (progress->state() == proto::DONE) return true;
    if (progress->state() != proto::RUNNING) return Wrong("a job failed", Internal("no result"));
    if (reply->leases_size() == 0) std::this_thread::yield();
  }
}

bool Year::Ask() {
  if (const auto jobs = tuner_->List({}); !jobs.ok()) return Wrong("jobs", jobs.status());
  (void)tuner_->ListWorkers();
  proto::BestRequest request;
  request.set_target(TheTarget().ClassText());
  request.set_candidates(8);
  request.add_workloads(WorkloadAt(0).key.ToText());
  request.add_workloads(WorkloadAt(7).key.ToText());
  const auto best = tuner_->Best(request);
  if (!best.ok()) return Wrong("best", best.status());
  if (best->best(0).config().empty()) return Wrong("best", Internal("there is none"));
  return true;
}

int64_t Year::NextPollMs() {
  const auto reply = Call(HelloOf("steady"));
  return reply.ok() ? reply->next_poll_ms() : INT64_MAX;
}

}  // namespace mlc::server
