#include "client/tune/replay_only.h"

#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "client/compile/choose_kernels.h"
#include "client/compile/kernel_source.h"
#include "client/target/auto_target.h"
#include "client/target/target_choice.h"
#include "client/tune/replay_report.h"
#include "client/tune/said_target.h"
#include "client/tune/tune_request.h"
#include "compiler/graph/program.h"
#include "costmodel/default_config.h"
#include "db/sqlite/sqlite_log.h"
#include "server/api/job_messages.h"
#include "server/search/portfolio_strategy.h"

namespace mlc::client {
namespace {

// As for a build from the log. `options` names the device afterwards.
Result<target::Target> TargetOfLog(TuneOptions& options, const db::TuningLog& log) {
  if (options.target != kAutoTarget) return ChooseTarget(options.target, ThreadsOf(options));
  const Machine machine = LookAtMachine(ThreadsOf(options), options.cuda_home);
  const AutoTarget chosen =
      ChooseAmongRecords(MLC_TRY(log.Targets()), machine, options.threads, "the log");
  SayTarget(options, chosen);
  options.target = chosen.text;
  return chosen.target;
}

// Without --trials, those that the job in the log had.
Result<server::JobRequest> RequestOf(const TuneOptions& options, proto::SubmitJobRequest wire) {
  if (options.trials == 0) wire.mutable_options()->set_trials(1);
  server::JobRequest request = MLC_TRY(server::ParseJobRequest(server::FromWire(std::move(wire))));
  request.options.trials = options.trials;
  return request;
}

Result<double> DefaultNs(const graph::Workload& workload, const target::Target& target,
                         KernelSource& source) {
  const std::string usual = MLC_TRY(costmodel::DefaultConfig(workload, target)).ToText();
  const std::optional<KnownKernel> known =
      MLC_TRY(source.Best(workload, [&](const std::string& config) { return config == usual; }));
  return known ? known->median_ns : 0;
}

Status AddChoices(const target::Target& target, KernelSource& source, ReplayReport& report) {
  graph::Program program;  // of the tasks alone
  for (const server::TaskInfo& task : report.model.tasks) {
    program.tasks.push_back({*task.definition, 1, task.label});
    report.default_ns.push_back(MLC_TRY(DefaultNs(*task.definition, target, source)));
  }
  report.choices = MLC_TRY(ChooseFrom(program, target, &source, Transfer::kUse));
  return Status();
}

}  // namespace

Result<ExitCode> ReplayOnly(const TuneSession& session) {
  TuneOptions options = session.options;
  const std::unique_ptr<db::TuningLog> log = MLC_TRY(db::OpenSqliteLogForReading(options.log));
  const target::Target target = MLC_TRY(TargetOfLog(options, *log));
  TuneRequest tune = MLC_TRY(TuneRequestOf(options, target));
  ReplayReport report;
  report.model = std::move(tune.model);
  report.target = target.ClassText();
  const std::unique_ptr<KernelSource> source = MakeLogSource(
      *log, target.ClassText(), options.reproducible ? Winner::kKept : Winner::kFastest);
  MLC_TRY(AddChoices(target, *source, report));
  const server::JobRequest request =
      MLC_TRY(RequestOf(options, std::move(*tune.request.mutable_job())));
  report.search = MLC_TRY(server::ReplaySearch(*log, request, server::MakePortfolioStrategy));
  const bool is_json = options.json || options.json_lines;
  std::cout << (is_json ? ReplayJson(options, report) + "\n" : ReplayText(options, report))
            << std::flush;
  if (report.Missing().empty()) return ExitCode::kOk;
  if (is_json) {
    std::cerr << "mlc-tune: --replay-only: the log has no record of " << report.Missing().size()
              << " of the model's tasks" << std::endl;
  }
  return ExitCode::kNoResult;
}

}  // namespace mlc::client
