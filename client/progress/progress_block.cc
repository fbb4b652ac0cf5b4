#include "client/progress/progress_block.h"

#include <algorithm>

#include "base/format.h"
#include "client/progress/sparkline.h"

namespace mlc::client {
namespace {

// Columns from which a table has more of its columns.
constexpr size_t kUsualColumns = 60;
constexpr size_t kLabelColumns = 120;
// Of the table: its head, one task, how many more there are.
constexpr size_t kLeastTable = 3;
constexpr size_t kRowsForExtras = 8;
constexpr size_t kMostBars = 60;

TaskColumns ColumnsFor(size_t columns) {
  if (columns < kUsualColumns) return TaskColumns::kFew;
  return columns < kLabelColumns ? TaskColumns::kUsual : TaskColumns::kLabels;
}

// The heaviest tasks in at most `rows` lines, with their head.
std::vector<std::string> Table(const server::ModelInfo& model, const server::JobFigures& figures,
                               size_t rows, TaskColumns columns) {
  std::vector<std::string> lines = {TaskHeader(columns)};
  const size_t count = model.tasks.size();
  // The last line says how many are left out, unless all fit.
  const size_t shown = count < rows ? count : rows - 2;
  const std::vector<size_t> order = HeaviestFirst(figures);
  for (size_t row = 0; row < shown; ++row) {
    lines.push_back(TaskRow(model.tasks[order[row]], figures.tasks[order[row]], columns));
  }
  if (shown < count) {
    const size_t hidden = count - shown;
    lines.push_back(Format("  and %zu lighter task%s", hidden, hidden == 1 ? "" : "s"));
  }
  return lines;
}

// "latency 7.41 ms ####=-__ 3.21 ms"; empty before there is a course.
std::string LatencyLine(const JobHistory& history, const BlockRoom& room) {
  const std::vector<double>& latencies = history.latencies();
  if (latencies.size() < 2) return {};
  const std::string head = "latency " + TimeText(latencies.front()) + " ";
  const std::string tail = " " + TimeText(latencies.back());
  const size_t taken = head.size() + tail.size();
  if (taken >= room.columns) return {};
  return head + Sparkline(latencies, std::min(kMostBars, room.columns - taken), room.charset) +
         tail;
}

// "trying 12 x conv 3x3 64->64, 4 x matmul 1x512 * 512x10"; empty if nothing is.
std::string TryingLine(const server::ModelInfo& model, const server::JobFigures& figures) {
  std::vector<size_t> tried;
  for (size_t i = 0; i < figures.tasks.size(); ++i) {
    if (figures.tasks[i].under_way > 0) tried.push_back(i);
  }
  std::stable_sort(tried.begin(), tried.end(), [&](size_t a, size_t b) {
    return figures.tasks[a].under_way > figures.tasks[b].under_way;
  });
  std::string text;
  for (const size_t i : tried) {
    text += (text.empty() ? "trying " : ", ") + std::to_string(figures.tasks[i].under_way) + " x " +
            model.tasks[i].summary;
  }
  return text;
}

}  // namespace

std::vector<std::string> ProgressBlock(const server::ModelInfo& model,
                                       const proto::JobProgress& progress,
                                       const JobHistory& history, const BlockRoom& room) {
  const server::JobFigures figures = server::FiguresOf(model, progress);
  const double seconds_left = history.SecondsLeft();
  const bool has_extras = room.rows >= kRowsForExtras;
  std::vector<std::string> extras;
  if (has_extras) {
    extras = {RoofNote(model, figures), LatencyLine(history, room), TryingLine(model, figures),
              RemarksText(progress)};
    std::erase(extras, "");
  }
  std::vector<std::string> lines;
  if (room.rows > kLeastTable) {
    lines = Table(model, figures, room.rows - 1 - extras.size(), ColumnsFor(room.columns));
  }
  lines.insert(lines.end(), extras.begin(), extras.end());
  lines.push_back(has_extras ? CourseText(figures, progress, seconds_left)
                             : ProgressLine(model, progress, seconds_left));
  for (std::string& line : lines) line = Fit(line, room.columns, room.charset);
  return lines;
}

std::vector<std::string> WaitingBlock(const server::ModelInfo& model,
                                      const proto::JobProgress& progress, const JobHistory& history,
                                      std::chrono::seconds waited, const BlockRoom& room) {
  std::vector<std::string> lines = ProgressBlock(model, progress, history, room);
  lines.back() = Fit(WaitingLine(waited), room.columns, room.charset);
  return lines;
}

}  // namespace mlc::client
