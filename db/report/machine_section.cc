// What the machines were while they measured: clock, disturbance, workers.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/html/axis.h"
#include "base/html/number_text.h"
#include "base/html/plot.h"
#include "base/quantile.h"
#include "db/report/tuning_page.h"

namespace mlc::report {
namespace {

using html::Element;
using html::Grid;
using html::LinearAxis;
using html::Mark;
using html::Markup;
using html::Number;
using html::NumberText;
using html::Paragraph;
using html::PercentText;
using html::Plot;
using html::PlotFigure;
using html::Point;
using html::Section;
using html::Table;
using html::Thinned;

constexpr size_t kMostPoints = 1200;
// A machine speed below this is disturbed enough to change which config leads.
constexpr double kDisturbed = 0.9;

std::vector<const db::Record*> OwnTimed(const TuningData& data) {
  std::vector<const db::Record*> own;
  for (const TaskData& task : data.tasks) {
    for (const db::Record& record : task.records) {
      const Outcome outcome = record.measurement.outcome;
      const bool timed = outcome == Outcome::kOk || outcome == Outcome::kTooSlow;
      if (timed && data.IsOwn(record)) own.push_back(&record);
    }
  }
  std::sort(own.begin(), own.end(),
            [](const db::Record* a, const db::Record* b) { return a->id < b->id; });
  return own;
}

// One figure over the trials, in the order of the log.
Markup OverTrials(const std::vector<const db::Record*>& own, const std::string& title,
                  const std::string& axis, double (*value_of)(const Measurement&), int color) {
  std::vector<Point> points;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    const double value = value_of(own[i]->measurement);
    if (value <= 0) continue;
    points.push_back({static_cast<double>(i + 1), value});
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (points.empty()) return {};
  Plot plot;
  plot.title = title;
  plot.description = "Between " + NumberText(low) + " and " + NumberText(high) + " over " +
                     std::to_string(points.size()) + " trials.";
  plot.x = LinearAxis("trials", 0, static_cast<double>(own.size()));
  // A chart that is filled by a difference of less than 2 % would show noise as a change.
  plot.y = LinearAxis(axis, std::min(low, 0.98 * high), high);
  plot.series = {{"", color, Mark::kDots, Thinned(points, kMostPoints)}};
  plot.height = 190;
  return PlotFigure(plot);
}

struct WorkerFigures {
  std::vector<double> clocks, speeds;
  int64_t disturbed = 0;
  std::set<std::string> toolchains;
};

std::string MiddleOf(std::vector<double> values) {
  if (values.empty()) return "-";
  std::sort(values.begin(), values.end());
  return NumberText(Quantile(values, 0.5), 4);
}

std::string RangeOf(std::vector<double> values) {
  if (values.empty()) return "-";
  std::sort(values.begin(), values.end());
  return NumberText(values.front(), 4) + " to " + NumberText(values.back(), 4);
}

Markup WorkersTable(const std::vector<const db::Record*>& own) {
  std::map<std::string, WorkerFigures> workers;
  for (const db::Record* record : own) {
    WorkerFigures& figures = workers[record->worker];
    const Measurement& m = record->measurement;
    if (m.clock_mhz > 0) figures.clocks.push_back(m.clock_mhz);
    figures.speeds.push_back(m.machine_speed);
    if (m.machine_speed < kDisturbed) ++figures.disturbed;
    figures.toolchains.insert(record->toolchain);
  }
  std::vector<std::vector<Markup>> rows;
  for (const auto& [name, figures] : workers) {
    const auto trials = static_cast<double>(figures.speeds.size());
    std::string toolchains;
    for (const std::string& toolchain : figures.toolchains) {
      toolchains += (toolchains.empty() ? "" : ", ") + toolchain;
    }
    rows.push_back({name, Number(trials), MiddleOf(figures.clocks), RangeOf(figures.clocks),
                    MiddleOf(figures.speeds), RangeOf(figures.speeds),
                    PercentText(static_cast<double>(figures.disturbed) / trials), toolchains});
  }
  return Table("Workers",
               {{"worker"},
                {"timed trials", true},
                {"clock (MHz)", true},
                {"from, to", true},
                {"machine speed", true},
                {"from, to", true},
                {"below " + NumberText(kDisturbed, 1), true},
                {"compiler"}},
               rows);
}

std::string DisturbanceWords(const std::vector<const db::Record*>& own) {
  const auto disturbed = std::count_if(own.begin(), own.end(), [](const db::Record* record) {
    return record->measurement.machine_speed < kDisturbed;
  });
  const double share =
      own.empty() ? 0 : static_cast<double>(disturbed) / static_cast<double>(own.size());
  if (share > 0.1) {
    return "The machine was disturbed during " + PercentText(share) +
           " of the timed trials: stop other programs, and tune again for times to rely on.";
  }
  return "The machine was undisturbed during " + PercentText(1 - share) + " of the timed trials.";
}

}  // namespace

Markup MachineSection(const TuningData& data) {
  const std::vector<const db::Record*> own = OwnTimed(data);
  Markup content = Paragraph(Markup("Target: ") + Element("code", data.target.ToText()));
  if (own.empty()) {
    content += Paragraph("This job timed nothing itself.");
  } else {
    content += Paragraph(DisturbanceWords(own) +
                         " Machine speed is relative to the best that the worker has seen: 1 is "
                         "undisturbed.");
    content += Grid({OverTrials(
                         own, "Machine speed while kernels were timed", "machine speed",
                         [](const Measurement& m) { return m.machine_speed; }, 2),
                     OverTrials(
                         own, "Clock while kernels were timed", "clock (MHz)",
                         [](const Measurement& m) { return m.clock_mhz; }, 3)});
    content += WorkersTable(own);
  }
  return Section("machine", "The machine", content);
}

}  // namespace mlc::report
