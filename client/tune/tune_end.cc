#include "client/tune/tune_end.h"

#include <algorithm>
#include <iostream>

#include "client/progress/progress_view.h"
#include "client/progress/tune_report.h"

namespace mlc::client {
namespace {

// More failed trials than this share of all is a fault to look into, not an exception.
constexpr double kTooManyFailures = 0.5;

ExitCode Verdict(const proto::JobProgress& progress, const server::JobFigures& figures) {
  if (progress.state() == proto::CANCELLED) return ExitCode::kInterrupted;
  // A task that the budget did not reach is built with a prior config.
  const server::VariantFigures& model = figures.model();
  const bool nothing = model.untried == model.tasks;
  if (model.missing > model.untried || nothing) return ExitCode::kNoResult;
  const auto failures = static_cast<double>(figures.failures);
  if (failures > kTooManyFailures * static_cast<double>(progress.trials())) {
    return ExitCode::kTooManyFailures;
  }
  return ExitCode::kOk;
}

bool HasWinner(const proto::JobProgress& progress) {
  return std::any_of(progress.tasks().begin(), progress.tasks().end(),
                     [](const proto::TaskProgress& task) { return task.best_ns() > 0; });
}

void Report(const TuneOptions& options, const std::string& job, const server::ModelInfo& model,
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
  } else if (!options.kernel.empty()) {
    if (!HasWinner(progress)) return;
    words << "A C header with the winners of all shapes and devices:\n  mlc-log header "
          << (options.server.empty() ? ShellQuoted(options.log) : "LOG") << " "
          << (model.tasks.empty() ? std::string("NAME") : model.tasks.front().label) << std::endl;
  } else if (options.is_raw()) {
    words << "mlc-compile takes it where it is the fastest of the log, and marks it as "
             "user-supplied."
          << std::endl;
  } else {
    words << "Compile it with:\n  " << CompileCommand(options) << std::endl;
  }
}

}  // namespace

Result<ExitCode> Ended(const TuneOptions& options, const std::string& job,
                       const server::ModelInfo& model, const proto::JobProgress& progress,
                       const std::optional<WholeModelResult>& whole) {
  if (progress.state() == proto::FAILED) return Internal("the job failed: " + progress.detail());
  Report(options, job, model, progress, whole);
  return Verdict(progress, server::FiguresOf(model, progress));
}

}  // namespace mlc::client
