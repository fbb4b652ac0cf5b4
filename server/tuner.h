// The heart of the server: jobs, their searches, the leases of workers and the log, put together.
// One thread of its own runs the searches; calls come from any thread and never wait for a search.
// Thread-safe. Borrows the log, which must outlive it.
//
// A result's way: Synchronize -> log commit -> acknowledgement, and the search thread learns it.
// The search never sees a result that the log does not hold.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "compiler/base/status.h"
#include "db/tuning_log.h"
#include "proto/tuner.pb.h"
#include "proto/worker.pb.h"
#include "server/job.h"
#include "server/job_request.h"
#include "server/leases.h"
#include "server/search/strategy.h"

namespace spdlog {
class logger;
}

namespace mlc::server {

struct TunerOptions {
  StrategyFactory strategy;
  LeaseTerms terms;
  bool resume_jobs = true;                 // go on with the running jobs of the log
  std::string timing_lock;                 // see TimingLock; empty: none
  std::shared_ptr<spdlog::logger> logger;  // must be set
};

class Tuner {
 public:
  using Reply = std::function<void(Result<proto::SynchronizeReply>)>;

  Tuner(db::TuningLog& log, TunerOptions options);
  // Stops at once; see Drain for the gentle way.
  ~Tuner();

  // Resumes jobs and starts the search thread.
  Status Start();
  Result<proto::SubmitJobReply> Submit(const proto::SubmitJobRequest& request);
  Status Cancel(const std::string& job);
  // While the log cannot be written, the error of the log: RESOURCE_EXHAUSTED, DATA_LOSS.
  Result<proto::JobProgress> Progress(const std::string& job) const;
  Result<proto::ListJobsReply> List() const;
  Result<proto::BestReply> Best(const proto::BestRequest& request) const;
  // `reply` runs once, on any thread, when all finished trials of the request are in the log.
  void Synchronize(const proto::SynchronizeRequest& request, Reply reply);
  // No new trials; waits for the ones under way, at most `timeout_ms`. Running jobs stay running in
  // the log: the next server goes on with them.
  void Drain(int64_t timeout_ms);

 private:
  enum class Stop : uint8_t { kNo, kCancelled, kTimeOver, kDraining };

  // What the search thread and the callers share of a job; guarded by mutex_.
  struct Job {
    db::JobRow row;
    JobOptions options;
    std::string target_class;
    int64_t started_ms = 0;
    Stop stop = Stop::kNo;
    bool ended = false;
    std::vector<std::pair<Digest, Measurement>> inbox;
    proto::JobProgress progress;
    std::vector<std::string> workload_texts;  // one per task, for leases
    std::vector<double> floors_ns;
    std::unique_ptr<JobRun> run;  // the search thread's alone
  };
  // A trial between proposal and commit.
  struct Pending {
    std::shared_ptr<Job> job;
    Proposal proposal;
  };
  struct Call;  // one Synchronize in progress

  // tuner_jobs.cc
  Status Resume();
  Status Admit(db::JobRow row);
  Result<std::optional<db::JobRow>> EarlierJob(const JobRequest& request) const;
  Result<db::JobRow> RowFor(const JobRequest& request, bool& resumed);
  Status SaveModels(const Job& job, std::vector<SavedModel> models);
  // tuner_search.cc
  void SearchLoop();
  void Step(const std::shared_ptr<Job>& job);
  bool BeginRun(Job& job);
  bool EndBeforeRun(Job& job);
  bool Calibrate(Job& job);
  void Feed(const std::shared_ptr<Job>& job);
  void Publish(Job& job);
  void End(Job& job);
  void Fail(Job& job, const Status& status);
  void ApplyStop(Job& job);
  void ExpireLeases();
  std::vector<Trial> Lookup(Job& job, std::vector<Trial> trials, bool& replayed);
  // tuner_workers.cc
  void TakeResults(const std::shared_ptr<Call>& call);
  void TakeResult(const std::shared_ptr<Call>& call, const Digest& uid, const Measurement& m);
  void TakeUnknown(const std::shared_ptr<Call>& call, const Digest& uid);
  void Commit(const std::shared_ptr<Call>& call, db::Record record);
  void Committed(const std::shared_ptr<Call>& call, const Digest& uid, const Measurement& m,
                 const Status& status);
  void Impossible(const Digest& uid, const std::string& why);
  void Done(const std::shared_ptr<Call>& call);
  void FillLeases(Call& call);
  db::Record RecordOf(const Call& call, const Digest& uid, const Measurement& m) const;
  std::shared_ptr<Job> FindJob(const std::string& id) const;

  db::TuningLog& log_;
  const TunerOptions options_;
  const int64_t started_ms_;

  // A job notes what it knows, or leaves what it learned: one at a time. Taken before mutex_.
  std::mutex knowledge_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Leases leases_;
  std::map<Digest, std::shared_ptr<Job>> jobs_;
  std::map<Digest, Pending> pending_;
  std::map<std::string, std::string> targets_;  // class -> text of a worker in contact
  Status trouble_;                              // why the log keeps nothing at present
  bool news_ = false;
  bool draining_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mlc::server
