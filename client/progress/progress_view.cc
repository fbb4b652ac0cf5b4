#include "client/progress/progress_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/format.h"
#include "base/outcome.h"

namespace mlc::client {
namespace {

constexpr int kFixedLines = 3;

std::string DurationText(double seconds) {
  const int64_t whole = std::llround(seconds);
  if (whole >= 3600) {
    return Format("%lldh%02lldm", static_cast<long long>(whole / 3600),
                  static_cast<long long>(whole / 60 % 60));
  }
  return Format("%lld:%02lld", static_cast<long long>(whole / 60),
                static_cast<long long>(whole % 60));
}

std::string RoofText(const TaskLine& line) {
  if (line.roofline_ns <= 0 || line.best_ns <= 0) return "   -";
  return Format("%3.0f%%", 100 * line.roofline_ns / line.best_ns);
}

std::string GainText(const TaskLine& line) {
  if (line.default_ns <= 0 || line.best_ns <= 0) return "    -";
  return Format("%4.2fx", line.default_ns / line.best_ns);
}

std::string TaskRow(const TaskInfo& task, const TaskLine& line) {
  return Format("%5.1f%% %9s %s %s %6lld %3dx  ", 100 * line.share,
                line.best_ns > 0 ? TimeText(line.best_ns).c_str() : "-", RoofText(line).c_str(),
                GainText(line).c_str(), static_cast<long long>(line.trials), line.uses) +
         task.summary;
}

// At most `width` characters of UTF-8; what would move the cursor becomes a question mark.
std::string Fit(const std::string& line, int width) {
  std::string text;
  int used = 0;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    const bool continues = (byte & 0xc0) == 0x80;
    if (!continues && ++used > width) break;
    text += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return text;
}

constexpr char kHeader[] = " share      best roof  gain trials  use  task";

std::vector<size_t> HeaviestFirst(const JobFigures& figures) {
  std::vector<size_t> order(figures.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return figures.tasks[a].share > figures.tasks[b].share;
  });
  return order;
}

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

std::string ModelText(const JobFigures& figures) {
  const VariantFigures& model = figures.model();
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
bool AllFromTheLog(const JobFigures& figures, const proto::JobProgress& progress) {
  return progress.state() != proto::RUNNING && progress.trials() > 0 && figures.measured == 0;
}

// Why no gain is reported for the model.
std::string DefaultsText(const JobFigures& figures) {
  if (figures.defaults_missing == 0 || figures.model().missing > 0) return "";
  return Format(
      "\nno gain over the defaults is known: %d of %d tasks were searched without measuring theirs",
      figures.defaults_missing, figures.variants[0].tasks);
}

}  // namespace

std::string TimeText(double ns) {
  if (ns < 1e3) return Format("%.0f ns", ns);
  if (ns < 1e6) return Format("%.*f us", ns < 1e4 ? 2 : ns < 1e5 ? 1 : 0, ns / 1e3);
  if (ns < 1e9) return Format("%.*f ms", ns < 1e7 ? 2 : ns < 1e8 ? 1 : 0, ns / 1e6);
  return Format("%.2f s", ns / 1e9);
}

std::string VariantsText(const ModelInfo& model, const JobFigures& figures) {
  if (model.variants.size() < 2) return "";
  const double fastest_ns = figures.model().model_ns;
  std::string text = "fastest variant: " + model.variants[figures.fastest];
  if (fastest_ns > 0) text += ", " + TimeText(fastest_ns);
  for (size_t v = 0; v < model.variants.size(); ++v) {
    if (v == figures.fastest) continue;
    const VariantFigures& other = figures.variants[v];
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

std::string ProgressLine(const ModelInfo& model, const proto::JobProgress& progress) {
  const JobFigures figures = FiguresOf(model, progress);
  std::string line = Format("%lld/%lld trials, ", static_cast<long long>(progress.trials()),
                            static_cast<long long>(progress.trials_wanted())) +
                     ModelText(figures) + ", ";
  line += AllFromTheLog(figures, progress) ? "all from the log, nothing was measured"
                                           : Format("%.1f trials/s", figures.trials_per_s);
  if (progress.gpu_busy() > 0) line += Format(", GPU busy %.0f %%", 100 * progress.gpu_busy());
  if (figures.seconds_left > 0) line += ", " + DurationText(figures.seconds_left) + " left";
  const std::string failures = FailuresText(progress);
  if (!failures.empty()) line += ", failed: " + failures;
  if (!progress.detail().empty()) line += ", " + progress.detail();
  return line;
}

std::string WaitingLine(std::chrono::seconds waited) {
  return "no answer from the server for " + DurationText(static_cast<double>(waited.count())) +
         "; waiting (Ctrl-C leaves, the job goes on there)";
}

std::vector<std::string> ProgressBlock(const ModelInfo& model, const proto::JobProgress& progress,
                                       int width, int height) {
  const JobFigures figures = FiguresOf(model, progress);
  // Too low for a table.
  if (height <= kFixedLines) return {Fit(ProgressLine(model, progress), width)};
  std::vector<std::string> lines = {kHeader};
  const int rows = std::min<int>(static_cast<int>(model.tasks.size()), height - kFixedLines);
  const std::vector<size_t> order = HeaviestFirst(figures);
  for (int row = 0; row < rows; ++row) {
    const size_t i = order[static_cast<size_t>(row)];
    lines.push_back(TaskRow(model.tasks[i], figures.tasks[i]));
  }
  const int hidden = static_cast<int>(model.tasks.size()) - std::max(rows, 0);
  if (hidden > 0) lines.push_back(Format("  and %d lighter tasks", hidden));
  lines.push_back(ProgressLine(model, progress));
  for (std::string& line : lines) line = Fit(line, width);
  return lines;
}

std::vector<std::string> WaitingBlock(const ModelInfo& model, const proto::JobProgress& progress,
                                      std::chrono::seconds waited, int width, int height) {
  std::vector<std::string> lines = ProgressBlock(model, progress, width, height);
  lines.back() = Fit(WaitingLine(waited), width);
  return lines;
}

std::string FinalTable(const ModelInfo& model, const proto::JobProgress& progress) {
  const JobFigures figures = FiguresOf(model, progress);
  std::string text = std::string(kHeader) + "\n";
  for (size_t i : HeaviestFirst(figures)) text += TaskRow(model.tasks[i], figures.tasks[i]) + "\n";
  text += ModelText(figures) + ", " + std::to_string(progress.trials()) + " trials";
  if (AllFromTheLog(figures, progress)) {
    text += ", all from the log, nothing was measured";
  } else {
    text += " in " + DurationText(progress.elapsed_s());
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
