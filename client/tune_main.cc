// mlc-tune: cuts a model into tasks, has them tuned by a server, shows how it goes. The server is
// embedded unless --server names one; there is one code path for both.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

#include "client/dims.h"
#include "client/embedded_server.h"
#include "client/interrupt.h"
#include "client/progress_output.h"
#include "client/target_choice.h"
#include "client/tune_options.h"
#include "client/tune_report.h"
#include "client/tuner_client.h"
#include "compiler/base/exit_code.h"
#include "compiler/front/front.h"
#include "compiler/target/target.h"
#include "server/search/portfolio_strategy.h"

namespace mlc::client {
namespace {

// How long an interrupted run waits for the trials under way.
constexpr int64_t kGraceMs = 10'000;
// More failed trials than this share of all is a fault to look into, not bad luck.
constexpr double kTooManyFailures = 0.5;

int ThreadsOf(const TuneOptions& options) {
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return options.threads > 0 ? options.threads : cores;
}

Result<graph::Program> ReadModel(const TuneOptions& options, const target::Target& target) {
  graph::onnx::ImportOptions import;
  import.dims = MLC_TRY(ParseDims(options.dims));
  front::FrontOptions front;
  front.precision = MLC_TRY(graph::ParsePrecision(options.precision));
  front.tolerance = options.tolerance;
  front.skip = {options.skipped_passes.begin(), options.skipped_passes.end()};
  return front::CompileFront(options.model, import, front::ForTarget(std::move(front), target));
}

proto::SubmitJobRequest RequestOf(const TuneOptions& options, const graph::Program& program,
                                  const target::Target& target) {
  proto::SubmitJobRequest request;
  for (const graph::Task& task : program.tasks) {
    proto::Task& wire = *request.add_tasks();
    wire.set_workload(task.workload.ToText());
    wire.set_occurrences(task.occurrences);
    wire.set_label(task.label);
  }
  request.set_target(target.ToText());
  request.set_label(options.model);
  proto::JobOptions& job = *request.mutable_options();
  job.set_trials(options.trials);
  job.set_seed(options.seed);
  job.set_fresh(options.fresh);
  job.set_time_budget_ms(options.time_budget_ms);
  return request;
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

std::vector<TaskInfo> TasksOf(const graph::Program& program) {
  std::vector<TaskInfo> tasks;
  for (const graph::Task& task : program.tasks) {
    const graph::Workload& workload = task.workload;
    tasks.push_back({workload.digest().ToText(), workload.Summary(), task.label, task.occurrences,
                     workload.Flops(), workload.MinBytes()});
  }
  return tasks;
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
  if (figures.missing > 0) return ExitCode::kNoResult;
  const auto failures = static_cast<double>(figures.failures);
  if (failures > kTooManyFailures * static_cast<double>(progress.trials())) {
    return ExitCode::kTooManyFailures;
  }
  return ExitCode::kOk;
}

void Report(const TuneOptions& options, const std::string& job, const std::vector<TaskInfo>& tasks,
            const proto::JobProgress& progress) {
  if (options.json || options.json_lines) {
    std::cout << ResultJson(options, job, tasks, progress) << std::endl;
  } else {
    std::cout << FinalTable(tasks, progress);
  }
  std::ostream& words = options.json || options.json_lines ? std::cerr : std::cout;
  if (progress.state() == proto::CANCELLED) {
    words << "Interrupted; everything measured is kept. Go on with:\n  " << options.Command()
          << std::endl;
  } else {
    words << "Compile it with:\n  " << CompileCommand(options) << std::endl;
  }
}

Result<ExitCode> Tune(const TuneOptions& options, Interrupt& interrupt) {
  const target::Target target = MLC_TRY(ChooseTarget(options.target, ThreadsOf(options)));
  const graph::Program program = MLC_TRY(ReadModel(options, target));
  const proto::SubmitJobRequest request = RequestOf(options, program, target);
  const std::vector<TaskInfo> tasks = TasksOf(program);
  std::unique_ptr<EmbeddedServer> embedded;
  if (options.server.empty()) {
    MLC_TRY(CheckLocal(options, target));
    embedded = MLC_TRY(EmbeddedServer::Start({options.log, options.worker, ThreadsOf(options),
                                              target.is_cuda() ? "cuda" : "cpu", options.cuda_home,
                                              options.verbose, server::MakePortfolioStrategy}));
  }
  TunerClient client =
      MLC_TRY(TunerClient::Connect(embedded ? embedded->address() : options.server));
  const proto::SubmitJobReply job = MLC_TRY(client.Submit(request));
  if (options.resume && !job.resumed()) std::cerr << "nothing to resume: starting anew\n";
  interrupt.OnFirst([&] { (void)client.Cancel(job.job()); });
  ProgressOutput output(StyleOf(options), tasks);
  Result<proto::JobProgress> ended =
      client.Watch(job.job(), [&](const proto::JobProgress& progress) {
        output.Show(progress);
        return embedded ? embedded->KeepWorker() : Status();
      });
  interrupt.OnFirst(nullptr);
  if (embedded) embedded->Stop(kGraceMs);
  if (!ended.ok()) return ended.status();
  if (ended->state() == proto::FAILED) return Internal("the job failed: " + ended->detail());
  output.Finish(*ended);
  Report(options, job.job(), tasks, *ended);
  return Verdict(*ended, FiguresOf(tasks, *ended));
}

int Main(int argc, char** argv) {
  const ParsedCommand command = ParseTuneCommand(argc, argv);
  if (command.exit_code >= 0) {
    (command.exit_code == 0 ? std::cout : std::cerr) << command.message;
    return command.exit_code;
  }
  Interrupt interrupt;
  const Result<ExitCode> code = Tune(command.options, interrupt);
  if (code.ok()) return static_cast<int>(*code);
  std::cerr << "mlc-tune: " << code.status().message() << std::endl;
  return static_cast<int>(ExitCodeOf(code.status()));
}

}  // namespace
}  // namespace mlc::client

int main(int argc, char** argv) { return mlc::client::Main(argc, argv); }
