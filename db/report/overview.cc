// The charts of the whole model: its time over the trials, its tasks' shares, its roofline.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/html/axis.h"
#include "base/html/bars.h"
#include "base/html/number_text.h"
#include "base/html/plot.h"
#include "db/report/latency_curve.h"
#include "db/report/tuning_page.h"

namespace mlc::report {
namespace {

using costmodel::PeakGflops;

using html::Axis;
using html::BarChart;
using html::BarFigure;
using html::DurationText;
using html::Grid;
using html::LinearAxis;
using html::LogAxis;
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
using html::Series;
using html::Table;
using html::Thinned;
using html::Time;
using html::TimeUnit;
using html::Unit;

constexpr size_t kCurvePoints = 1200;
constexpr size_t kRooflinePoints = 80;  // of each task
constexpr size_t kMostBars = 14;
constexpr size_t kMostLabels = 12;

Plot CurvePlot(const std::vector<CurvePoint>& curve, bool over_seconds) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const CurvePoint& point : curve) {
    low = std::min(low, point.ns);
    high = std::max(high, point.ns);
  }
  const Unit unit = TimeUnit(high);
  std::vector<Point> points;
  for (const CurvePoint& point : curve) {
    const double x = over_seconds ? point.seconds : static_cast<double>(point.trial);
    points.push_back({x, point.ns / unit.size});
  }
  const double last = points.back().x;
  const std::string what = over_seconds ? "seconds of tuning" : "trials";
  Plot plot;
  plot.title = "Time of the model over " + what;
  plot.description = "A line that falls from " + DurationText(curve.front().ns) + " to " +
                     DurationText(curve.back().ns) + " after " + NumberText(last) + " " + what +
                     ".";
  plot.x = LinearAxis(over_seconds ? "tuning (s)" : "trials", 0, std::max(last, 1.0));
  const std::string title = "time of the model (" + unit.name + ")";
  plot.y = high > 4 * low ? LogAxis(title, low / unit.size, high / unit.size)
                          : LinearAxis(title, 0, high / unit.size);
  plot.series.push_back(
      {"start",
       1,
       Mark::kDashes,
       {{0, curve.front().ns / unit.size}, {last, curve.front().ns / unit.size}}});
  plot.series.push_back({"best so far", 0, Mark::kSteps, Thinned(points, kCurvePoints)});
  return plot;
}

Markup CurveTable(const std::vector<CurvePoint>& curve) {
  std::vector<std::vector<Markup>> rows;
  size_t shown = curve.size();
  for (const double part : {0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0}) {
    const auto at = static_cast<size_t>(std::lround(part * static_cast<double>(curve.size() - 1)));
    if (at == shown) continue;
    shown = at;
    const CurvePoint& point = curve[at];
    rows.push_back({Number(static_cast<double>(point.trial)), NumberText(point.seconds) + " s",
                    Time(point.ns), NumberText(curve.front().ns / point.ns) + "×"});
  }
  return Table("Time of the model while it was tuned",
               {{"trials", true}, {"after", true}, {"time", true}, {"faster", true}}, rows);
}

// The confirmed times of one model are longer than what led to them.
Markup FactorNote(const TuningData& data) {
  double largest = 1;
  for (const TaskData& task : data.tasks) {
    largest = std::max(largest, BestSoFar(task.records).factor());
  }
  if (largest <= 1) return {};
  return Paragraph(
      "Leaders are measured again, side by side, and such confirmed times are longer "
      "than single ones. A single time counts here as it would if it were confirmed: "
      "up to " +
      NumberText(largest) + " times as long, by task.");
}

double IntensityOf(const TaskData& task) { return task.work.flops / task.work.min_bytes; }

double GflopsOf(const TaskData& task, double ns) { return task.work.flops / ns; }

// Where a roof ends, and how high the charts reach.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = 0;
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

std::vector<Point> RoofPoints(double peak, double copy_gbps, const Axis& x) {
  if (peak <= 0) return {};
  if (copy_gbps <= 0) return {{x.low, peak}, {x.high, peak}};
  const double ridge = peak / copy_gbps;
  if (ridge <= x.low) return {{x.low, peak}, {x.high, peak}};
  if (ridge >= x.high) return {{x.low, x.low * copy_gbps}, {x.high, x.high * copy_gbps}};
  return {{x.low, x.low * copy_gbps}, {ridge, peak}, {x.high, peak}};
}

std::vector<Point> TriedPoints(const TaskData& task) {
  std::vector<Point> points;
  for (const db::Record& record : task.records) {
    if (record.measurement.outcome != Outcome::kOk) continue;
    points.push_back({IntensityOf(task), GflopsOf(task, record.measurement.median_ns)});
  }
  return Thinned(points, kRooflinePoints);
}

Plot RooflinePlot(const TuningData& data, const std::vector<size_t>& order, double peak) {
  Series tried{"tried", 7, Mark::kDots, {}}, before{"default", 1, Mark::kBigDots, {}};
  Series chosen{"chosen", 0, Mark::kBigDots, {}};
  Plot plot;
  Range x, y;
  for (size_t n = 1; n <= order.size(); ++n) {
    const TaskData& task = data.tasks[order[n - 1]];
    if (!task.chosen || task.work.flops <= 0 || task.work.min_bytes <= 0) continue;
    if (task.uses[data.fastest] == 0) continue;
    for (const Point& point : TriedPoints(task)) tried.points.push_back(point);
    const Point best = {IntensityOf(task), GflopsOf(task, task.BestNs())};
    if (task.before) before.points.push_back({best.x, GflopsOf(task, task.BeforeNs())});
    chosen.points.push_back(best);
    if (n <= kMostLabels) plot.labels.push_back({best, std::to_string(n)});
  }
  for (const Series* series : {&tried, &before, &chosen}) {
    for (const Point& point : series->points) x.Add(point.x), y.Add(point.y);
  }
  if (peak > 0) y.Add(peak);
  plot.title = "Roofline";
  plot.note = "Each column of dots is a task; the numbers are those of the tasks below.";
  plot.description = "Speed of " + std::to_string(chosen.points.size()) +
                     " tasks over their arithmetic intensity: what was tried, the default and the "
                     "chosen config, below the peak of the device.";
  plot.x = LogAxis("operations per byte (flop/B)", x.low, x.high);
  plot.y = LogAxis("speed (Gflop/s)", y.low, y.high);
  plot.height = 280;
  plot.series = {
      {"peak of the device", 2, Mark::kLine, RoofPoints(peak, data.target.copy_gbps, plot.x)},
      std::move(tried),
      std::move(before),
      std::move(chosen)};
  return plot;
}

}  // namespace

Markup LatencySection(const TuningData& data) {
  const std::vector<CurvePoint> curve = LatencyCurve(data);
  if (curve.empty()) {
    return Section("latency", "How the time fell",
                   Paragraph("A task of the model has no correct kernel yet, so the model has no "
                             "time."));
  }
  if (curve.size() == 1) {
    return Section("latency", "How the time fell",
                   Paragraph("This job measured nothing itself: the log had answers for all that "
                             "it asked."));
  }
  return Section("latency", "How the time fell",
                 Grid({PlotFigure(CurvePlot(curve, false)), PlotFigure(CurvePlot(curve, true))}) +
                     FactorNote(data) + CurveTable(curve));
}

Markup SharesSection(const TuningData& data, const std::vector<size_t>& order) {
  BarChart chart;
  chart.title = "Time in the model by task";
  chart.note = "Executions times the time of one, and the share of the whole model.";
  chart.description =
      "For each task a bar for the default config and one for the chosen config; "
      "the table has the numbers.";
  chart.series = {"default", "chosen"};
  chart.colors = {1, 0};
  std::vector<std::vector<Markup>> rows;
  for (size_t n = 1; n <= order.size(); ++n) {
    const TaskData& task = data.tasks[order[n - 1]];
    const auto uses_before = static_cast<double>(task.uses[0]);
    const auto uses = static_cast<double>(task.uses[data.fastest]);
    if (uses == 0 && uses_before == 0) continue;
    const double before = uses_before * task.BeforeNs(), after = uses * task.BestNs();
    const std::string share_before = PercentText(data.ShareBefore(task));
    const std::string share_after = PercentText(data.ShareAfter(task));
    if (chart.bars.size() < kMostBars) {
      chart.bars.push_back(
          {TaskName(data, order, n), {before, after}, {share_before, share_after}});
    }
    rows.push_back({TaskName(data, order, n), Number(uses), Time(task.BeforeNs()),
                    Time(task.BestNs()),
                    task.BestNs() > 0 ? NumberText(task.BeforeNs() / task.BestNs()) + "×" : "-",
                    share_before, share_after});
  }
  const Markup table = Table("Tasks before and after",
                             {{"task"},
                              {"executions", true},
                              {"default", true},
                              {"chosen", true},
                              {"faster", true},
                              {"share before", true},
                              {"share after", true}},
                             rows);
  return Section("shares", "Where the time goes", BarFigure(chart) + table);
}

Markup RooflineSection(const TuningData& data, const std::vector<size_t>& order) {
  double peak = 0;
  for (const TaskData& task : data.tasks) {
    peak = std::max(peak, PeakGflops(task.work, data.target));
  }
  std::vector<std::vector<Markup>> rows;
  for (size_t n = 1; n <= order.size(); ++n) {
    const TaskData& task = data.tasks[order[n - 1]];
    if (!task.chosen || task.work.flops <= 0 || task.uses[data.fastest] == 0) continue;
    const double gflops = GflopsOf(task, task.BestNs());
    const double of_peak = task.roofline_ns > 0 ? task.roofline_ns / task.BestNs() : 0;
    rows.push_back({TaskName(data, order, n), NumberText(IntensityOf(task)), NumberText(gflops),
                    NumberText(task.work.min_bytes / task.BestNs()),
                    of_peak > 0 ? PercentText(of_peak) : "-"});
  }
  if (rows.empty()) return {};
  std::string words = "Above a task stands what the device can do at its arithmetic intensity. ";
  words += peak > 0 ? "The flat roof is " + NumberText(peak) + " Gflop/s" : "The peak is unknown";
  if (data.target.copy_gbps > 0) {
    words += ", the sloping one copies " + NumberText(data.target.copy_gbps) + " GB/s from memory";
  }
  words += ". Tasks whose operands stay in a cache may lie above the slope.";
  return Section("roofline", "Against the peak of the device",
                 Paragraph(words) + PlotFigure(RooflinePlot(data, order, peak)) +
                     Table("Speed of the chosen configs",
                           {{"task"},
                            {"flop/B", true},
                            {"Gflop/s", true},
                            {"GB/s", true},
                            {"of the peak", true}},
                           rows));
}

}  // namespace mlc::report
