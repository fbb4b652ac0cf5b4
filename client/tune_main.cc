// mlc-tune: cuts a model into tasks, has them tuned by a server, shows how it goes. The server is
// embedded unless --server names one; that one's jobs go on without us, and can be listed, watched
// and cancelled.
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "client/cuda_kernel.h"
#include "client/dims.h"
#include "client/embedded_server.h"
#include "client/follow_job.h"
#include "client/interrupt.h"
#include "client/job_list.h"
#include "client/model_variants.h"
#include "client/progress_output.h"
#include "client/server_target.h"
#include "client/target_choice.h"
#include "client/tune_options.h"
#include "client/tune_report.h"
#include "client/tune_request.h"
#include "client/tuner_client.h"
#include "client/whole_model.h"
#include "client/worker_list.h"
#include "compiler/base/exit_code.h"
#include "compiler/front/front.h"
#include "compiler/target/target.h"
#include "server/search/portfolio_strategy.h"
#include "transport/flags.h"

namespace mlc::client {
namespace {

// How long an interrupted run waits for the trials under way.
constexpr int64_t kGraceMs = 10'000;
// More failed trials than this share of all is a fault to look into, not bad luck.
constexpr double kTooManyFailures = 0.5;
// Ended jobs that --jobs shows, and that --watch and --cancel know by a part of their ids.
constexpr int kShownJobs = 50;
constexpr int kKnownJobs = 10'000;
// Unless the command says otherwise.
constexpr int64_t kMostRunnersUp = 48;
constexpr int64_t kLeastWholeModelMs = 45'000;
constexpr int64_t kMostWholeModelMs = 60'000;

int ThreadsOf(const TuneOptions& options) {
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return options.threads > 0 ? options.threads : cores;
}

Result<ModelTasks> ReadModel(const TuneOptions& options, const target::Target& target) {
  graph::onnx::ImportOptions import;
  import.dims = MLC_TRY(ParseDims(options.dims));
  front::FrontOptions front;
  front.precision = MLC_TRY(graph::ParsePrecision(options.precision));
  front.tolerance = options.tolerance;
  front.skip = {options.skipped_passes.begin(), options.skipped_passes.end()};
  return TasksOfModel(MLC_TRY(front::ReadModel(options.model, import)),
                      front::ForTarget(std::move(front), target), target);
}

// Who is logged in, in the letters of the server's names: for servers that cannot tell otherwise.
std::string UserName() {
  const passwd* user = getpwuid(geteuid());
  std::string name = user == nullptr ? std::to_string(geteuid()) : user->pw_name;
  for (char& c : name) {
    if (isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  }
  return name.substr(0, 64);
}

// What is asked of a server.
struct Order {
  proto::SubmitRawCudaRequest request;  // with a kernel or, if it searches, without
  bool searches = true;
  ModelInfo model;
};

Result<Order> OrderOf(const TuneOptions& options, const target::Target& target) {
  const ModelTasks tasks =
      MLC_TRY(options.is_raw() ? ReadWorkload(options) : ReadModel(options, target));
  Order order;
  order.searches = !options.is_raw();
  order.model = InfoOf(tasks);
  *order.request.mutable_job() = RequestOf(options, tasks, target, UserName());
  if (options.is_raw()) {
    *order.request.mutable_kernel() = MLC_TRY(ReadCudaKernel(options, target));
  }
  return order;
}

Result<proto::SubmitJobReply> Submit(TunerClient& client, const Order& order) {
  return order.searches ? client.Submit(order.request.job()) : client.SubmitRawCuda(order.request);
}

// The embedded worker is this machine.
Status CheckLocal(const TuneOptions& options, const target::Target& asked) {
  if (IsLocalTarget(options.target)) return Status();
  const target::Target here =
      MLC_TRY(ChooseTarget(asked.is_cuda() ? "cuda" : "cpu", ThreadsOf(options)));
  if (asked.ClassText() == here.ClassText()) return Status();
  return InvalidArgument("this machine is not the --target: it is '" + here.ClassText() +
                         "'; give --server with workers of that target");
}

ProgressStyle StyleOf(const TuneOptions& options) {
  if (options.json_lines) return ProgressStyle::kJsonLines;
  if (options.quiet) return ProgressStyle::kNone;
  const char* terminal = std::getenv("TERM");
  const bool smart = terminal != nullptr && std::string(terminal) != "dumb";
  return isatty(STDERR_FILENO) == 1 && smart && !options.verbose ? ProgressStyle::kTerminal
                                                                 : ProgressStyle::kPlain;
}

ExitCode Verdict(const proto::JobProgress& progress, const JobFigures& figures) {
  if (progress.state() == proto::CANCELLED) return ExitCode::kInterrupted;
  // A task that the budget did not reach is built with a guess.
  const VariantFigures& model = figures.model();
  const bool nothing = model.untried == model.tasks;
  if (model.missing > model.untried || nothing) return ExitCode::kNoResult;
  const auto failures = static_cast<double>(figures.failures);
  if (failures > kTooManyFailures * static_cast<double>(progress.trials())) {
    return ExitCode::kTooManyFailures;
  }
  return ExitCode::kOk;
}

void Report(const TuneOptions& options, const std::string& job, const ModelInfo& model,
            const proto::JobProgress& progress, const std::optional<WholeModelResult>& whole) {
  if (options.json || options.json_lines) {
    std::cout << ResultJson(options, job, model, progress, whole) << std::endl;
  } else {
    std::cout << FinalTable(model, progress);
    if (whole) std::cout << WholeModelText(*whole);
  }
  std::ostream& words = options.json || options.json_lines ? std::cerr : std::cout;
  if (options.verb == TuneVerb::kWatch) {
    if (progress.state() == proto::CANCELLED) words << "The job was cancelled." << std::endl;
  } else if (progress.state() == proto::CANCELLED) {
    words << (options.server.empty() ? "Interrupted" : "Cancelled")
          << "; everything measured is kept. Go on with:\n  " << options.Command() << std::endl;
  } else if (options.is_raw()) {
    words << "mlc-compile takes it where it is the fastest of the log, and marks it as "
             "hand-written."
          << std::endl;
  } else {
    words << "Compile it with:\n  " << CompileCommand(options) << std::endl;
  }
}

Result<ExitCode> Ended(const TuneOptions& options, const std::string& job, const ModelInfo& model,
                       const proto::JobProgress& progress,
                       const std::optional<WholeModelResult>& whole = std::nullopt) {
  if (progress.state() == proto::FAILED) return Internal("the job failed: " + progress.detail());
  Report(options, job, model, progress, whole);
  return Verdict(progress, FiguresOf(model, progress));
}

// Runners-up in the whole model, on this machine's GPU. What goes wrong here costs nothing that was
// measured before, and is said.
std::optional<WholeModelResult> TryRunnersUp(const TuneOptions& options, const std::string& job,
                                             const proto::JobProgress& progress,
                                             const std::stop_token& stop) {
  WholeModelOptions asked;
  asked.model_words = options.ModelWords();
  if (!options.cubin_cache.empty()) {
    asked.model_words.insert(asked.model_words.end(), {"--cubin-cache", options.cubin_cache});
  }
  asked.log = options.log;
  asked.device = OrdinalOf(options.target).value_or(0);
  asked.most = options.whole_model >= 0
                   ? options.whole_model
                   : static_cast<int>(std::min(kMostRunnersUp, progress.trials() / 10));
  const auto spent_ms = static_cast<int64_t>(progress.elapsed_s() * 1000);
  asked.budget_ms = std::clamp(spent_ms, kLeastWholeModelMs, kMostWholeModelMs);
  if (options.time_budget_ms > 0) {
    asked.budget_ms = std::min(asked.budget_ms, options.time_budget_ms - spent_ms);
  }
  const bool measured = progress.state() == proto::DONE && progress.trials() > progress.replayed();
  if (!measured || asked.most == 0 || asked.budget_ms <= 0) return std::nullopt;
  if (!options.quiet && !options.json_lines) {
    std::cerr << "timing runners-up in the whole model" << std::endl;
  }
  const Result<Digest> id = Digest::Parse(job);
  if (id.ok()) asked.job = *id;
  const Result<WholeModelResult> result = TryInWholeModel(asked, stop);
  if (result.ok()) return *result;
  std::cerr << "runners-up were not timed in the whole model: " << result.status().message()
            << std::endl;
  return std::nullopt;
}

// On a server and a worker of our own: they end with us.
Result<ExitCode> TuneHere(const TuneOptions& options, const target::Target& target,
                          const Order& order, Interrupt& interrupt) {
  MLC_TRY(CheckLocal(options, target));
  const std::stop_token stop = interrupt.Keep();
  const std::unique_ptr<EmbeddedServer> embedded = MLC_TRY(EmbeddedServer::Start(
      {options.log, options.worker, ThreadsOf(options), target.is_cuda() ? "cuda" : "cpu",
       options.cuda_home, options.cubin_cache, options.verbose, options.is_raw(),
       server::MakePortfolioStrategy}));
  TunerClient client = MLC_TRY(TunerClient::Connect({embedded->address(), {}, {}, {}}));
  const proto::SubmitJobReply job = MLC_TRY(Submit(client, order));
  if (options.resume && !job.resumed()) std::cerr << "nothing to resume: starting anew\n";
  ProgressOutput output(StyleOf(options), order.model);
  const Result<proto::JobProgress> ended = [&] {
    const std::stop_callback cancel(stop, [&] { (void)client.Cancel(job.job()); });
    return client.Watch(job.job(), [&](const proto::JobProgress& progress) {
      output.Show(progress);
      return embedded->KeepWorker();
    });
  }();
  embedded->Stop(kGraceMs);
  if (!ended.ok()) return ended.status();
  if (ended->state() != proto::FAILED) output.Finish(*ended);
  std::optional<WholeModelResult> whole;
  if (target.is_cuda() && !options.is_raw()) {
    whole = TryRunnersUp(options, job.job(), *ended, stop);
  }
  return Ended(options, job.job(), order.model, *ended, whole);
}

transport::ChannelOptions ServerOf(const TuneOptions& options) {
  transport::ChannelOptions server = options.Server();
  transport::FillMissing(server, [](const char* name) { return std::getenv(name); });
  return server;
}

// How to come back to a job that goes on.
std::string ComeBack(const TuneOptions& options, const std::string& job) {
  return "Watch it with:\n  " + options.VerbCommand("--watch " + job) + "\nCancel it with:\n  " +
         options.VerbCommand("--cancel " + job) + "\n";
}

Result<ExitCode> Follow(const TuneOptions& options, TunerClient& client, const std::string& job,
                        const ModelInfo& model, Interrupt& interrupt) {
  ProgressOutput output(StyleOf(options), model);
  const Result<Followed> seen = FollowJob(client, job, output, interrupt.Keep(),
                                          std::chrono::milliseconds(options.patience_ms));
  if (!seen.ok() && seen.status().code() == StatusCode::kUnavailable) {
    return Unavailable(seen.status().message() + "\nThe job goes on when the server is back. " +
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

Result<ExitCode> TuneThere(const TuneOptions& options, Interrupt& interrupt) {
  TunerClient client = MLC_TRY(TunerClient::Connect(ServerOf(options)));
  const target::Target target = MLC_TRY(TargetOfWorkers(client, options.target, options.threads));
  const Order order = MLC_TRY(OrderOf(options, target));
  const proto::SubmitJobReply job = MLC_TRY(Submit(client, order));
  if (job.joined()) {
    std::cerr << "the same job is running already: joined\n";
  } else if (options.resume && !job.resumed()) {
    std::cerr << "nothing to resume: starting anew\n";
  }
  if (!options.detach) return Follow(options, client, job.job(), order.model, interrupt);
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

Result<ExitCode> Tune(const TuneOptions& options, Interrupt& interrupt) {
  if (!options.server.empty()) return TuneThere(options, interrupt);
  const target::Target target = MLC_TRY(ChooseTarget(options.target, ThreadsOf(options)));
  return TuneHere(options, target, MLC_TRY(OrderOf(options, target)), interrupt);
}

Result<ExitCode> Watch(TuneOptions options, TunerClient& client, const std::string& job,
                       Interrupt& interrupt) {
  const proto::JobDescription description = MLC_TRY(client.Describe(job));
  options.model = description.summary().label();
  return Follow(options, client, job, MLC_TRY(InfoOf(description)), interrupt);
}

Result<ExitCode> ListJobs(const TuneOptions& options, TunerClient& client) {
  const proto::ListJobsReply jobs = MLC_TRY(client.List(kShownJobs));
  const auto now = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  std::cout << (options.json || options.json_lines ? JobsJson(jobs) + "\n"
                                                   : JobsTable(jobs, now.count()))
            << std::flush;
  return ExitCode::kOk;
}

// --workers, --drain, --release.
Result<ExitCode> AboutWorkers(const TuneOptions& options, TunerClient& client) {
  const std::string& worker = options.named_worker;
  std::string said;
  if (options.verb == TuneVerb::kDrain) {
    MLC_TRY(client.Drain(worker, "asked for by " + UserName()));
    said = "Worker " + worker + " finishes what it holds and leaves.\n";
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

// Everything but tuning.
Result<ExitCode> AtServer(const TuneOptions& options, Interrupt& interrupt) {
  TunerClient client = MLC_TRY(TunerClient::Connect(ServerOf(options)));
  if (options.verb == TuneVerb::kList) return ListJobs(options, client);
  if (!options.named_worker.empty() || options.verb == TuneVerb::kWorkers) {
    return AboutWorkers(options, client);
  }
  const std::string job = MLC_TRY(FindJob(MLC_TRY(client.List(kKnownJobs)), options.job));
  if (options.verb == TuneVerb::kWatch) return Watch(options, client, job, interrupt);
  MLC_TRY(client.Cancel(job));
  if (!options.quiet) std::cout << "Job " << job << " is cancelled; what it measured is kept.\n";
  return ExitCode::kOk;
}

int Main(int argc, char** argv) {
  const ParsedCommand command = ParseTuneCommand(argc, argv);
  if (command.exit_code >= 0) {
    (command.exit_code == 0 ? std::cout : std::cerr) << command.message;
    return command.exit_code;
  }
  Interrupt interrupt;
  const Result<ExitCode> code = command.options.verb == TuneVerb::kTune
                                    ? Tune(command.options, interrupt)
                                    : AtServer(command.options, interrupt);
  if (code.ok()) return static_cast<int>(*code);
  std::cerr << "mlc-tune: " << code.status().message() << std::endl;
  return static_cast<int>(ExitCodeOf(code.status()));
}

}  // namespace
}  // namespace mlc::client

int main(int argc, char** argv) { return mlc::client::Main(argc, argv); }
