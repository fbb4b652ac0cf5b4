#include "client/tune/server_verbs.h"

#include <chrono>
#include <iostream>

#include "client/progress/job_list.h"
#include "client/progress/worker_list.h"
#include "client/tune/tune_remote.h"
#include "client/tune/tune_request.h"

namespace mlc::client {
namespace {

// Ended jobs that --jobs shows, and that --watch and --cancel know by a part of their ids.
constexpr int kShownJobs = 50;
constexpr int kKnownJobs = 10'000;

Result<ExitCode> ListJobs(const TuneOptions& options, TunerClient& client) {
  const proto::ListJobsReply jobs = MLC_TRY(client.List(kShownJobs));
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  std::cout << (options.json || options.json_lines ? JobsJson(jobs) + "\n"
                                                   : JobsTable(jobs, now.count()))
            << std::flush;
  return ExitCode::kOk;
}

// --workers, --drain, --quarantine, --release.
Result<ExitCode> AboutWorkers(const TuneOptions& options, TunerClient& client) {
  const std::string& worker = options.named_worker;
  std::string said;
  if (options.verb == TuneVerb::kDrain) {
    MLC_TRY(client.Drain(worker, "asked for by " + UserName()));
    said = "Worker " + worker + " finishes what it holds and leaves.\n";
  } else if (options.verb == TuneVerb::kQuarantine) {
    proto::QuarantineWorkerRequest request;
    request.set_worker(worker);
    request.set_reason("asked for by " + UserName());
    MLC_TRY(client.Call(&proto::Workers::Stub::QuarantineWorker, request));
    said = "Worker " + worker + " gets no trials until it is released.\n";
  } else if (options.verb == TuneVerb::kRelease) {
    MLC_TRY(client.Release(worker));
    said = "Worker " + worker + " is released; a canary trial comes first.\n";
  } else {
    const proto::ListWorkersReply workers = MLC_TRY(client.Workers());
    std::cout << (options.json || options.json_lines ? WorkersJson(workers) + "\n"
                                                     : WorkersTable(workers))
              << std::flush;
  }
  if (!options.quiet) std::cout << said << std::flush;
  return ExitCode::kOk;
}

}  // namespace

Result<ExitCode> AtServer(const TuneSession& session) {
  const TuneOptions& options = session.options;
  TunerClient client = MLC_TRY(TunerClient::Connect(session.server));
  if (options.verb == TuneVerb::kList) return ListJobs(options, client);
  if (!options.named_worker.empty() || options.verb == TuneVerb::kWorkers) {
    return AboutWorkers(options, client);
  }
  const std::string job = MLC_TRY(FindJob(MLC_TRY(client.List(kKnownJobs)), options.job));
  if (options.verb == TuneVerb::kWatch) return Watch(session, client, job);
  MLC_TRY(client.Cancel(job));
  if (!options.quiet) std::cout << "Job " << job << " is cancelled; what it measured is kept.\n";
  return ExitCode::kOk;
}

}  // namespace mlc::client
