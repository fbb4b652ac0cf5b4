#include "client/tune/server_verbs.h"

#include <chrono>
#include <iostream>

#include "client/progress/job_list.h"
#include "client/progress/worker_list.h"
#include "client/tune/tune_remote.h"
#include "client/tune/tune_request.h"
#include "server/state/state_json.h"

namespace mlc::client {
namespace {

// Ended jobs that `jobs` shows, and that `watch` and `cancel` know by a part of their ids.
constexpr int kShownJobs = 50;
constexpr int kKnownJobs = 10'000;

Result<ExitCode> ListJobs(const TuneOptions& options, TunerClient& client) {
  const proto::ListJobsReply jobs = MLC_TRY(client.List(kShownJobs));
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  std::cout << (options.json ? server::JobsJson(jobs) + "\n" : JobsTable(jobs, now.count()))
            << std::flush;
  return ExitCode::kOk;
}

Result<ExitCode> ListWorkers(const TuneOptions& options, TunerClient& client) {
  const proto::ListWorkersReply workers = MLC_TRY(client.Workers());
  std::cout << (options.json ? server::WorkersJson(workers) + "\n" : WorkersTable(workers))
            << std::flush;
  return ExitCode::kOk;
}

// Tells people what was done.
ExitCode Done(const TuneOptions& options, const std::string& what) {
  if (!options.quiet) std::cout << what << std::endl;
  return ExitCode::kOk;
}

Result<ExitCode> Drain(const TuneOptions& options, TunerClient& client) {
  const std::string& worker = options.named_worker;
  MLC_TRY(client.Drain(worker, "asked for by " + UserName()));
  return Done(options, "Worker " + worker + " finishes what it holds and leaves.");
}

Result<ExitCode> Quarantine(const TuneOptions& options, TunerClient& client) {
  proto::QuarantineWorkerRequest request;
  request.set_worker(options.named_worker);
  request.set_reason("asked for by " + UserName());
  MLC_TRY(client.Call(&proto::Workers::Stub::QuarantineWorker, request));
  return Done(options, "Worker " + options.named_worker + " gets no trials until it is released.");
}

Result<ExitCode> Release(const TuneOptions& options, TunerClient& client) {
  MLC_TRY(client.Release(options.named_worker));
  return Done(options,
              "Worker " + options.named_worker + " is released; a canary trial comes first.");
}

Result<std::string> NamedJob(const TuneOptions& options, TunerClient& client) {
  return FindJob(MLC_TRY(client.List(kKnownJobs)), options.job);
}

Result<ExitCode> Cancel(const TuneOptions& options, TunerClient& client) {
  const std::string job = MLC_TRY(NamedJob(options, client));
  MLC_TRY(client.Cancel(job));
  return Done(options, "Job " + job + " is cancelled; what it measured is kept.");
}

}  // namespace

Result<ExitCode> AtServer(const TuneSession& session) {
  const TuneOptions& options = session.options;
  TunerClient client = MLC_TRY(TunerClient::Connect(session.server));
  switch (options.verb) {
    case TuneVerb::kJobs:
      return ListJobs(options, client);
    case TuneVerb::kWatch:
      return Watch(session, client, MLC_TRY(NamedJob(options, client)));
    case TuneVerb::kCancel:
      return Cancel(options, client);
    case TuneVerb::kWorkers:
      return ListWorkers(options, client);
    case TuneVerb::kDrain:
      return Drain(options, client);
    case TuneVerb::kQuarantine:
      return Quarantine(options, client);
    case TuneVerb::kRelease:
      return Release(options, client);
    case TuneVerb::kTune:
      break;
  }
  return Internal("not a request to a server");
}

}  // namespace mlc::client
