// The heart of the server: jobs, their searches, the leases of workers and the log, put together.
// Threads of its own run the searches, each job on one at a time; calls come from any thread and
// never wait for a search. Thread-safe. Borrows the log, which must outlive it.
//
// A result's way: Synchronize -> log commit -> acknowledgement, and the search thread learns it.
// The search never sees a result that the log does not hold.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "costmodel/history/workload_index.h"
#include "db/tuning_log.h"
#include "proto/tuner.pb.h"
#include "proto/worker.pb.h"
#include "server/jobs/best_cache.h"
#include "server/jobs/job.h"
#include "server/jobs/job_request.h"
#include "server/jobs/quotas.h"
#include "server/metrics/metrics.h"
#include "server/scheduler/demand.h"
#include "server/scheduler/leases.h"
#include "server/search/strategy.h"
#include "server/security/caller.h"
#include "server/tuner/tuner_counts.h"
#include "server/workers/worker_registry.h"

namespace spdlog {
class logger;
}

namespace mlc::server {

struct TunerOptions {
  StrategyFactory strategy;
  LeaseTerms terms;
  HealthTerms health;                // of workers; without canaries no worker is quarantined
  RosterTerms names;                 // of workers: how many, and how long they are known
  int64_t confirm_wait_ms = 20'000;  // for a second worker, then the first one confirms
  bool resume_jobs = true;           // go on with the running jobs of the log
  int search_threads = 1;            // jobs whose searches compute at the same time
  int search_nice = 0;               // of the search threads; above 0: others come first
  std::string timing_lock;           // see TimingLock; empty: none
  std::string crash_marker;          // see InstallCrashMarker; empty: crashes count against no job
  Quotas quotas;                     // what each user may ask for
  std::shared_ptr<spdlog::logger> logger;  // must be set
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
};

class Tuner {
 public:
  using Reply = std::function<void(Result<proto::SynchronizeReply>)>;

  Tuner(db::TuningLog& log, TunerOptions options);
  // Stops at once; see Drain for the gentle way.
  ~Tuner();

  // Resumes jobs and starts the search threads.
  Status Start();
  // RESOURCE_EXHAUSTED if the quotas allow the caller no such job now.
  Result<proto::SubmitJobReply> Submit(const proto::SubmitJobRequest& request,
                                       const Caller& caller);
  // A job that measures one user-supplied kernel. PERMISSION_DENIED for callers who are no
  // administrators.
  Result<proto::SubmitJobReply> SubmitUserKernel(const proto::SubmitUserKernelRequest& request,
                                                 const Caller& caller);
  // For good when it returns. PERMISSION_DENIED for another user's job.
  Status Cancel(const std::string& job, const Caller& caller);
  // While the log cannot be written, the error of the log: RESOURCE_EXHAUSTED, DATA_LOSS.
  Result<proto::JobProgress> Progress(const std::string& job) const;
  Result<proto::JobDescription> Describe(const std::string& job) const;
  Result<proto::ListJobsReply> List(const proto::ListJobsRequest& request) const;
  Result<proto::BestReply> Best(const proto::BestRequest& request) const;
  // `reply` runs once, on any thread, when all finished trials of the request are in the log.
  // `owner`: whose worker it is; empty for a local one. RESOURCE_EXHAUSTED for one worker too many.
  void Synchronize(proto::SynchronizeRequest request, Reply reply, const std::string& owner = {});
  // A worker is connected until Disconnected(), which takes the id: `wake` runs when there is work
  // for it, `disconnect` when it should go, both on any thread, quickly, and never after
  // Disconnected() has returned.
  int64_t OpenSession(const proto::OpenSessionRequest& request, std::function<void()> wake,
                      std::function<void()> disconnect);
  void Disconnected(int64_t id);
  // Ends all sessions, before the server shuts down.
  void DisconnectSessions();
  proto::ListWorkersReply ListWorkers() const;
  // By a person; outlives the server, or ends with the log's error. NOT_FOUND: it never called.
  Status DrainWorker(const std::string& worker, const std::string& reason);
  Status QuarantineWorker(const std::string& worker, const std::string& reason);
  Status ReleaseWorker(const std::string& worker);
  // For the fleet, which starts and stops workers.
  Demand WorkDemand() const;
  // What of that demand they have no workers for, from now on: jobs that wait for such say so.
  void SetUnservedNeeds(const std::vector<Needs>& needs);
  // OK while the log can be written, else its error.
  Status LogStatus() const;
  // Replaces the quotas of the options: for new jobs, and for the parts of all users at once.
  void SetQuotas(const Quotas& quotas);
  Metrics& metrics() const { return *options_.metrics; }
  TunerCounts Count() const;
  // A result that the worker's service does not let through: the trial is another worker's.
  void RecordForeignResult(const std::string& worker, const std::string& task_uid) const;
  // No new trials; waits for the ones under way, at most `timeout_ms`. Running jobs stay running in
  // the log: the next server goes on with them.
  void Drain(int64_t timeout_ms);

 private:
  enum class Stop : uint8_t { kNo, kCancelled, kTimeOver, kDraining };
  // Of a job with the search threads: due ones wait in due_.
  enum class Turn : uint8_t { kIdle, kDue, kStepping, kSteppingAndDue };

  struct Job;  // what the search threads and the callers share of one: tuner_job.h
  // A trial between proposal and commit.
  struct Pending {
    std::shared_ptr<Job> job;
    Proposal proposal;
    int64_t queued_ms = 0;
    int64_t leased_ms = 0;  // 0: not yet
    Claim claim;            // of a confirmation
  };
  struct Call;  // one Synchronize in progress

  // tuner_jobs.cc
  Result<proto::SubmitJobReply> AdmitJob(const proto::SubmitJobRequest& request, int64_t bytes,
                                         const Caller& caller,
                                         const std::function<Result<JobRequest>()>& parse);
  Status StartJob(db::JobRow row);
  Result<std::shared_ptr<Job>> JobOf(db::JobRow row) const;
  Result<std::optional<db::JobRow>> EarlierJob(const JobRequest& request) const;
  Status OpenSearch(Job& job, const db::JobRow& row);
  Result<db::JobRow> RowFor(const JobRequest& request, bool& resumed);
  Quotas QuotasNow() const;
  Usage UsageOf(const std::string& owner, const Digest& but) const;
  Result<bool> Join(const db::JobRow& row);
  void UpdateShares(const db::JobRow& row);
  Status Save(Job& job);
  Status CancelInLog(const std::string& id, const Caller& caller);
  Status SaveModels(const Job& job, std::vector<SavedModel> models);
  // tuner_resume.cc
  Status Resume();
  // tuner_search.cc
  void SearchLoop();
  void Tick();
  std::deque<std::shared_ptr<Job>>::iterator NextDue();
  void Schedule(const std::shared_ptr<Job>& job);
  void ScheduleAll();
  bool CatchingUp() const;
  void Step(const std::shared_ptr<Job>& job);
  Result<bool> FeedResults(const std::shared_ptr<Job>& job);
  void Publish(Job& job);
  void ApplyStop(Job& job);
  void ExpireLeases();
  std::vector<Trial> Lookup(Job& job, std::vector<Trial> trials, bool& replayed);
  // tuner_runs.cc
  bool BeginRun(Job& job);
  bool EndBeforeRun(Job& job);
  bool Calibrate(Job& job);
  void End(Job& job);
  void FinishJob(Job& job);
  void Close(Job& job, proto::JobState state);
  void Fail(Job& job, const Status& status);
  // tuner_workers.cc
  Status RegisterWorker(const Call& call, const std::string& owner);
  void Done(const std::shared_ptr<Call>& call);
  bool RecoveryIsOver() const;
  void FillLeases(Call& call);
  void Fill(const Leases::Grant& grant, proto::Lease& lease);
  int64_t NextPollMs(const Call& call) const;
  // tuner_results.cc
  void TakeResults(const std::shared_ptr<Call>& call);
  void TakeResult(const std::shared_ptr<Call>& call, const Digest& uid,
                  const proto::TrialResult& result);
  void TakeUnknown(const std::shared_ptr<Call>& call, const Digest& uid);
  void RejectResult(const std::shared_ptr<Call>& call, const db::Record& record, const Status& why);
  void Commit(const std::shared_ptr<Call>& call, db::Record record);
  void Committed(const std::shared_ptr<Call>& call, const db::Record& record, const Status& status);
  void AbandonTrial(const Digest& uid, const std::string& why);
  void Refuse(Call& call, const std::string& task_uid, const std::string& why);
  void RecordTimes(const Digest& uid, const Measurement& m);
  db::Record RecordOf(const Call& call, const Digest& uid, const Measurement& m) const;
  // tuner_checks.cc, tuner_claims.cc
  std::string DoubtOf(const db::Record& record) const;
  std::vector<Claim> ClaimsOn(const Job& job, const std::vector<Trial>& trials) const;
  LeaseAsk AskFor(const Job& job, const Trial& trial, const Claim& claim) const;
  void CompareWithClaim(const db::Record& record);
  void Confirm(db::Record claim, const std::string& doubt);
  void TakeCheck(const std::shared_ptr<Call>& call, const Digest& uid, const Measurement& m);
  void TakeConfirmation(const std::shared_ptr<Call>& call, const Check& check,
                        const Measurement& m);
  void CheckEnded(const Digest& uid, const std::string& why);
  void SendCanary(const Call& call);
  Check ChooseCanary(const std::string& worker, const target::Target& target,
                     const std::vector<Digest>& workloads) const;
  void ReportBadResult(const std::string& worker, const std::string& why);
  // tuner_fleet.cc
  void WakeWorkers(const std::string& target_class);
  void ForgetWorkers();
  Status SetAdminHold(const std::string& worker, const std::string& what,
                      const std::function<void()>& decide);
  Status RestoreAdminHolds();
  proto::WorkerState StateOf(const std::string& worker, const WorkerInfo& info) const;
  std::string WaitsFor(const Needs& needs) const;
  std::string DetailOf(const Job& job) const;
  static std::string AbandonedText(const Job& job);
  Needs NeedsOf(const Job& job, const Proposal& proposal) const;
  static Needs LeastNeeds(const Job& job);
  std::shared_ptr<Job> FindJob(const std::string& id) const;
  double GpuBusy(const std::string& target_class) const;
  Result<db::JobRow> RowInLog(const std::string& id) const;
  proto::JobSummary SummaryNow(const db::JobRow& row) const;
  // tuner_metrics.cc
  void Report();
  void ReportWorkers() const;

  db::TuningLog& log_;
  const TunerOptions options_;
  const int64_t started_ms_;

  // A job notes what it knows, or leaves what it learned: one at a time. Taken before mutex_.
  std::mutex knowledge_;
  // Rows of jobs are written in the order of their states. Taken after knowledge_, before mutex_.
  std::mutex rows_;
  mutable BestCache best_cache_;
  mutable WorkloadIndex workloads_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> due_;
  int beginning_ = 0;  // search threads that start a search
  int64_t next_tick_ms_ = 0;
  Leases leases_;
  Leases::Counts reported_;  // as the metrics know them
  WorkerRegistry registry_;
  std::map<Digest, std::shared_ptr<Job>> jobs_;
  std::map<Digest, Pending> pending_;
  std::map<std::string, std::string> targets_;  // class -> text of a worker in contact
  Quotas quotas_;
  Status log_status_;  // the error of the last write to the log
  bool draining_ = false;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mlc::server
