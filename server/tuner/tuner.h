// The core of the server: combines jobs, their searches, the leases of workers and the log. Its own
// threads run the searches, each job on one thread at a time. Any thread may make calls, and no
// call waits for a search. Thread-safe. Borrows the log, which must outlive it.
//
// Each function forwards to a part of the tuner, which server/tuner/README.md lists. The search
// learns a result only after the log has it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "db/tuning_log.h"
#include "server/jobs/best_answer.h"
#include "server/jobs/job_progress.h"
#include "server/jobs/submission.h"
#include "server/scheduler/demand.h"
#include "server/security/caller.h"
#include "server/tuner/live_state.h"
#include "server/tuner/tuner_counts.h"
#include "server/tuner/tuner_options.h"
#include "server/workers/admin_hold_kind.h"
#include "server/workers/worker_call.h"

namespace mlc::server {

class Tuner {
 public:
  using Reply = std::function<void(Result<WorkerOrders>)>;

  Tuner(db::TuningLog& log, TunerOptions options);
  // Stops immediately; call Drain first for an orderly stop.
  ~Tuner();

  // Resumes jobs and starts the search threads.
  Status Start();
  // RESOURCE_EXHAUSTED if the quotas allow the caller no such job now.
  Result<Submitted> Submit(const Submission& request, const Caller& caller);
  // Submits a job that measures one user-supplied kernel. PERMISSION_DENIED unless the caller is an
  // administrator.
  Result<Submitted> SubmitUserKernel(const KernelSubmission& request, const Caller& caller);
  // Cancels the job; the log has that when the call returns. PERMISSION_DENIED for the job of
  // another user.
  Status Cancel(const std::string& job, const Caller& caller);
  // If the log cannot be written, returns the log's error: RESOURCE_EXHAUSTED or DATA_LOSS.
  Result<JobProgress> Progress(const std::string& job) const;
  Result<JobDescription> Describe(const std::string& job) const;
  Result<std::vector<JobSummary>> List(int32_t limit) const;
  Result<BestAnswer> Best(const BestQuestion& question) const;
  // Runs `reply` once, on any thread, when the log has all finished trials of the request. `owner`:
  // the caller that runs the worker; empty for a local one. RESOURCE_EXHAUSTED if there are too
  // many workers.
  void Synchronize(WorkerCall request, Reply reply, const std::string& owner = {});
  // Opens the session of a worker and returns its id, which Disconnected() takes. `wake` runs when
  // there is work, `disconnect` when the worker should disconnect. Both run on any thread, must be
  // quick, and never run after Disconnected() has returned.
  int64_t OpenSession(const std::string& worker, const std::string& incarnation,
                      std::function<void()> wake, std::function<void()> disconnect);
  void Disconnected(int64_t id);
  // Ends all sessions; call it before the server shuts down.
  void DisconnectSessions();
  std::vector<WorkerLine> ListWorkers() const;
  LiveState Live() const;
  // Sets the hold of an administrator on a worker. The hold outlives the server; if the log's error
  // is returned, it ends with the server. NOT_FOUND if the worker never called.
  Status SetAdminHold(const std::string& worker, AdminHoldKind hold, const std::string& reason);
  // The demand for workers, for the fleet.
  Demand WorkDemand() const;
  // Sets the part of the demand that the fleet has no workers for. Jobs that wait for it report
  // that.
  void SetUnservedNeeds(const std::vector<Needs>& needs);
  // OK if the log can be written, else the error of the last write.
  Status LogStatus() const;
  // Replaces the quotas: the limits of new jobs, and immediately the shares of all users.
  void SetQuotas(const Quotas& quotas);
  Metrics& metrics() const;
  TunerCounts Count() const;
  // Records that the service refused a result, and why. `uid`: the trial, which belongs to another
  // worker; empty if the id is malformed.
  void RecordRefusal(const std::string& worker, std::optional<Digest> uid,
                     const std::string& why) const;
  // Hands out no new trials, and waits at most `timeout_ms` for trials in progress. Running jobs
  // stay in state running in the log, so that the next server resumes them.
  void Drain(int64_t timeout_ms);

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace mlc::server
