// The heart of the server: jobs, their searches, the leases of workers and the log, put together.
// Threads of its own run the searches, each job on one at a time; calls come from any thread and
// never wait for a search. Thread-safe. Borrows the log, which must outlive it.
//
// Nothing is decided here: each function is one of a part of the tuner, and the search never sees a
// result that the log does not hold. README.md lists the parts.
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
  // Stops at once; see Drain for the gentle way.
  ~Tuner();

  // Resumes jobs and starts the search threads.
  Status Start();
  // RESOURCE_EXHAUSTED if the quotas allow the caller no such job now.
  Result<Submitted> Submit(const Submission& request, const Caller& caller);
  // A job that measures one user-supplied kernel. PERMISSION_DENIED for callers who are no
  // administrators.
  Result<Submitted> SubmitUserKernel(const KernelSubmission& request, const Caller& caller);
  // For good when it returns. PERMISSION_DENIED for another user's job.
  Status Cancel(const std::string& job, const Caller& caller);
  // While the log cannot be written, the error of the log: RESOURCE_EXHAUSTED, DATA_LOSS.
  Result<JobProgress> Progress(const std::string& job) const;
  Result<JobDescription> Describe(const std::string& job) const;
  Result<std::vector<JobSummary>> List(int32_t limit) const;
  Result<BestAnswer> Best(const BestQuestion& question) const;
  // `reply` runs once, on any thread, when all finished trials of the request are in the log.
  // `owner`: whose worker it is; empty for a local one. RESOURCE_EXHAUSTED for one worker too many.
  void Synchronize(WorkerCall request, Reply reply, const std::string& owner = {});
  // A worker is connected until Disconnected(), which takes the id: `wake` runs when there is work
  // for it, `disconnect` when it should go, both on any thread, quickly, and never after
  // Disconnected() has returned.
  int64_t OpenSession(const std::string& worker, const std::string& incarnation,
                      std::function<void()> wake, std::function<void()> disconnect);
  void Disconnected(int64_t id);
  // Ends all sessions, before the server shuts down.
  void DisconnectSessions();
  std::vector<WorkerLine> ListWorkers() const;
  LiveState Live() const;
  // By a person; outlives the server, or ends with the log's error. NOT_FOUND: it never called.
  Status SetAdminHold(const std::string& worker, AdminHoldKind hold, const std::string& reason);
  // For the fleet, which starts and stops workers.
  Demand WorkDemand() const;
  // What of that demand they have no workers for, from now on: jobs that wait for such say so.
  void SetUnservedNeeds(const std::vector<Needs>& needs);
  // OK while the log can be written, else its error.
  Status LogStatus() const;
  // Replaces the quotas of the options: for new jobs, and for the parts of all users at once.
  void SetQuotas(const Quotas& quotas);
  Metrics& metrics() const;
  TunerCounts Count() const;
  // A result that the worker's service does not let through, and why: the trial is another
  // worker's, or, without a uid, none.
  void RecordRefusal(const std::string& worker, std::optional<Digest> uid,
                     const std::string& why) const;
  // No new trials; waits for the ones under way, at most `timeout_ms`. Running jobs stay running in
  // the log: the next server goes on with them.
  void Drain(int64_t timeout_ms);

 private:
  struct Parts;

  std::unique_ptr<Parts> parts_;
};

}  // namespace mlc::server
