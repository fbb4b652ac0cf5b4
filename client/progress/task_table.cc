#include "client/progress/task_table.h"

#include <algorithm>
#include <numeric>

#include "base/format.h"

namespace mlc::client {
namespace {

// A kernel that executes less of a task's work than this needs another roof than the task's.
constexpr double kSavesWork = 0.95;
constexpr int kTaskWidth = 48;  // of most; labels begin behind it

bool SavesWork(const server::TaskLine& line) {
  return line.executed_share < kSavesWork && line.executed_roofline_ns > 0 && line.best_ns > 0;
}

std::string RoofText(const server::TaskLine& line) {
  if (line.roofline_ns <= 0 || line.best_ns <= 0) return "   - ";
  if (!SavesWork(line)) return Format("%3.0f%% ", 100 * line.roofline_ns / line.best_ns);
  return Format("%3.0f%%*", 100 * line.executed_roofline_ns / line.best_ns);
}

std::string GainText(const server::TaskLine& line) {
  if (line.default_ns <= 0 || line.best_ns <= 0) return "    -";
  return Format("%4.2fx", line.default_ns / line.best_ns);
}

}  // namespace

std::string TimeText(double ns) {
  if (ns < 1e3) return Format("%.0f ns", ns);
  if (ns < 1e6) return Format("%.*f us", ns < 1e4 ? 2 : ns < 1e5 ? 1 : 0, ns / 1e3);
  if (ns < 1e9) return Format("%.*f ms", ns < 1e7 ? 2 : ns < 1e8 ? 1 : 0, ns / 1e6);
  return Format("%.2f s", ns / 1e9);
}

std::string TaskHeader(TaskColumns columns) {
  if (columns == TaskColumns::kFew) return " share      best  task";
  std::string header = " share      best roof   gain trials  use  task";
  if (columns == TaskColumns::kLabels) header += std::string(kTaskWidth - 4, ' ') + "  label";
  return header;
}

std::string TaskRow(const server::TaskInfo& task, const server::TaskLine& line,
                    TaskColumns columns) {
  const std::string best = line.best_ns > 0 ? TimeText(line.best_ns) : "-";
  std::string row = Format("%5.1f%% %9s", 100 * line.share, best.c_str());
  if (columns == TaskColumns::kFew) return row + "  " + task.summary;
  row += Format(" %s %s %6lld %3dx  ", RoofText(line).c_str(), GainText(line).c_str(),
                static_cast<long long>(line.trials), line.uses) +
         task.summary;
  if (columns == TaskColumns::kUsual || task.label.empty()) return row;
  const size_t missing = kTaskWidth - std::min<size_t>(kTaskWidth, task.summary.size());
  return row + std::string(missing + 2, ' ') + task.label;
}

std::vector<size_t> HeaviestFirst(const server::JobFigures& figures) {
  std::vector<size_t> order(figures.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return figures.tasks[a].share > figures.tasks[b].share;
  });
  return order;
}

std::string RoofNote(const server::ModelInfo& model, const server::JobFigures& figures) {
  for (const size_t i : HeaviestFirst(figures)) {
    const server::TaskLine& line = figures.tasks[i];
    if (!SavesWork(line)) continue;
    return Format(
               "* roof of the executed arithmetic, %.0f %% of the task's (whose roof: %.0f %%): ",
               100 * line.executed_share, 100 * line.roofline_ns / line.best_ns) +
           model.tasks[i].summary;
  }
  return {};
}

}  // namespace mlc::client
