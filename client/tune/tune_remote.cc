#include "client/tune/tune_remote.h"

#include <chrono>
#include <iostream>

#include "base/machine/cpus.h"
#include "client/progress/follow_job.h"
#include "client/progress/tune_report.h"
#include "client/service/server_target.h"
#include "client/target/auto_target.h"
#include "client/tune/said_target.h"
#include "client/tune/tune_end.h"
#include "client/tune/tune_request.h"

namespace mlc::client {
namespace {

// How to come back to a job that goes on.
std::string ComeBack(const TuneOptions& options, const std::string& job) {
  return "Watch it with:\n  " + options.VerbCommand("watch " + job) + "\nCancel it with:\n  " +
         options.VerbCommand("cancel " + job) + "\n";
}

Result<ExitCode> Follow(const TuneSession& session, const TuneOptions& options, TunerClient& client,
                        const std::string& job, const server::ModelInfo& model) {
  ProgressOutput output(session.progress, model);
  const Result<Followed> seen = FollowJob(client, job, output, session.interrupt.Keep(),
                                          std::chrono::milliseconds(options.reconnect_timeout_ms));
  if (!seen.ok() && seen.status().code() == StatusCode::kUnavailable) {
    return Unavailable(seen.status().message() + "\nThe job continues when the server is back. " +
                       ComeBack(options, job));
  }
  const Followed followed = MLC_TRY(seen);
  if (!followed.left) {
    if (followed.progress.state() != proto::FAILED) output.Finish(followed.progress);
    return Ended(options, job, model, followed.progress);
  }
  std::cerr << "The job goes on at the server. " << ComeBack(options, job) << std::flush;
  return ExitCode::kInterrupted;
}

// `options` names the device afterwards: the same command is to make the same job when other
// workers are there.
Result<target::Target> TargetOf(TunerClient& server, TuneOptions& options) {
  if (options.target != kAutoTarget) {
    return TargetOfWorkers(server, options.target, options.threads);
  }
  const Machine machine = LookAtMachine(target::ThreadsFor(options.threads), options.cuda_home);
  const AutoTarget chosen =
      MLC_TRY(ChooseAmongWorkers(MLC_TRY(TargetsOfWorkers(server)), machine, options.threads));
  SayTarget(options, chosen);
  options.target = chosen.text;
  return chosen.target;
}

}  // namespace

Result<ExitCode> TuneRemote(const TuneSession& session) {
  TuneOptions options = session.options;
  MLC_TRY(SetKernelTarget(options));
  TunerClient client = MLC_TRY(TunerClient::Connect(session.server));
  const target::Target target = MLC_TRY(TargetOf(client, options));
  const TuneRequest tune = MLC_TRY(TuneRequestOf(options, target));
  const proto::SubmitJobReply job = MLC_TRY(Submit(client, tune));
  if (job.joined()) {
    std::cerr << "the same job is running already: joined\n";
  } else if (options.resume && !job.resumed()) {
    std::cerr << "nothing to resume: starting anew\n";
  }
  if (!options.detach) return Follow(session, options, client, job.job(), tune.model);
  if (options.json || options.json_lines) {
    std::cout << SubmittedJson(job) << std::endl;
  } else if (options.quiet) {
    std::cout << job.job() << std::endl;
  } else {
    std::cout << "Job " << job.job() << " goes on at the server. " << ComeBack(options, job.job())
              << std::flush;
  }
  return ExitCode::kOk;
}

Result<ExitCode> Watch(const TuneSession& session, TunerClient& client, const std::string& job) {
  TuneOptions options = session.options;
  const proto::JobDescription description = MLC_TRY(client.Describe(job));
  options.model = description.summary().label();
  return Follow(session, options, client, job, MLC_TRY(server::InfoOf(description)));
}

}  // namespace mlc::client
