#include "client/progress/progress_view.h"

#include <cmath>

#include "base/format.h"
#include "base/outcome.h"

namespace mlc::client {
namespace {

std::string FailuresText(const proto::JobProgress& progress) {
  std::string text;
  for (int i = 1; i < progress.outcomes_size(); ++i) {
    // Trials that stopped early are correct, only slow.
    if (progress.outcomes(i) == 0 || i == static_cast<int>(Outcome::kTooSlow)) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(progress.outcomes(i)) + " " +
            std::string(ToText(static_cast<Outcome>(i)));
  }
  return text;
}

std::string ModelText(const server::JobFigures& figures) {
  const server::VariantFigures& model = figures.model();
  const std::string missing = std::to_string(model.missing) + " tasks without a kernel yet";
  if (model.model_ns <= 0) return missing;
  std::string text = "model " + TimeText(model.model_ns);
  if (model.missing > 0) {
    return text + Format(", %.0f %% of it estimated: ", 100 * (1 - model.measured_share)) + missing;
  }
  if (figures.default_model_ns > 0) {
    text += Format(" (%.2fx)", figures.default_model_ns / model.model_ns);
  }
  return text;
}

// A job that has ended without a worker: the log knew all of its trials.
bool AllFromTheLog(const server::JobFigures& figures, const proto::JobProgress& progress) {
  return progress.state() != proto::RUNNING && progress.trials() > 0 && figures.measured == 0;
}

// Why no gain is reported for the model.
std::string DefaultsText(const server::JobFigures& figures) {
  if (figures.defaults_missing == 0 || figures.model().missing > 0) return "";
  return Format(
      "\nno gain over the defaults is known: %d of %d tasks were searched without measuring theirs",
      figures.defaults_missing, figures.variants[0].tasks);
}

}  // namespace

std::string ClockText(double seconds) {
  const int64_t whole = std::llround(seconds);
  if (whole >= 3600) {
    return Format("%lldh%02lldm", static_cast<long long>(whole / 3600),
                  static_cast<long long>(whole / 60 % 60));
  }
  return Format("%lld:%02lld", static_cast<long long>(whole / 60),
                static_cast<long long>(whole % 60));
}

std::string VariantsText(const server::ModelInfo& model, const server::JobFigures& figures) {
  if (model.variants.size() < 2) return "";
  const double fastest_ns = figures.model().model_ns;
  std::string text = "fastest variant: " + model.variants[figures.fastest];
  if (fastest_ns > 0) text += ", " + TimeText(fastest_ns);
  for (size_t v = 0; v < model.variants.size(); ++v) {
    if (v == figures.fastest) continue;
    const server::VariantFigures& other = figures.variants[v];
    text += "; " + model.variants[v];
    if (other.missing > 0) {
      text += Format(": %d of %d tasks not measured", other.missing, other.tasks);
    } else if (fastest_ns > 0) {
      text += " " + TimeText(other.model_ns) +
              Format(" (%+.1f %%)", 100 * (other.model_ns / fastest_ns - 1));
    }
  }
  return text;
}

std::string CourseText(const server::JobFigures& figures, const proto::JobProgress& progress,
                       double seconds_left) {
  std::string text = Format("%lld/%lld trials, ", static_cast<long long>(progress.trials()),
                            static_cast<long long>(progress.trials_wanted()));
  if (seconds_left > 0) text += ClockText(seconds_left) + " left, ";
  text += ModelText(figures) + ", ";
  text += AllFromTheLog(figures, progress) ? "all from the log, nothing was measured"
                                           : Format("%.1f trials/s", figures.trials_per_s);
  if (progress.gpu_busy() > 0) text += Format(", GPU busy %.0f %%", 100 * progress.gpu_busy());
  return text;
}

std::string RemarksText(const proto::JobProgress& progress) {
  const std::string failures = FailuresText(progress);
  std::string text = failures.empty() ? "" : "failed: " + failures;
  if (!progress.detail().empty()) text += (text.empty() ? "" : ", ") + progress.detail();
  return text;
}

std::string ProgressLine(const server::ModelInfo& model, const proto::JobProgress& progress,
                         double seconds_left) {
  const std::string remarks = RemarksText(progress);
  return CourseText(server::FiguresOf(model, progress), progress, seconds_left) +
         (remarks.empty() ? "" : ", " + remarks);
}

std::string WaitingLine(std::chrono::seconds waited) {
  return "no answer from the server for " + ClockText(static_cast<double>(waited.count())) +
         "; waiting (Ctrl-C leaves, the job goes on there)";
}

std::string FinalTable(const server::ModelInfo& model, const proto::JobProgress& progress) {
  const server::JobFigures figures = server::FiguresOf(model, progress);
  std::string text = TaskHeader(TaskColumns::kUsual) + "\n";
  for (size_t i : HeaviestFirst(figures)) {
    text += TaskRow(model.tasks[i], figures.tasks[i], TaskColumns::kUsual) + "\n";
  }
  const std::string note = RoofNote(model, figures);
  if (!note.empty()) text += note + "\n";
  text += ModelText(figures) + ", " + std::to_string(progress.trials()) + " trials";
  if (AllFromTheLog(figures, progress)) {
    text += ", all from the log, nothing was measured";
  } else {
    text += " in " + ClockText(progress.elapsed_s());
    if (progress.replayed() > 0) {
      text += " (" + std::to_string(progress.replayed()) + " from the log)";
    }
  }
  if (progress.gpu_busy() > 0) text += Format(", GPU busy %.0f %%", 100 * progress.gpu_busy());
  const std::string failures = FailuresText(progress);
  if (!failures.empty()) text += ", failed: " + failures;
  const std::string variants = VariantsText(model, figures);
  if (!variants.empty()) text += "\n" + variants;
  text += DefaultsText(figures);
  if (!progress.detail().empty()) text += "\n" + progress.detail();
  return text + "\n";
}

}  // namespace mlc::client
