#include "db/report/task_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string_view>

#include "base/html/axis.h"
#include "base/html/bars.h"
#include "base/html/number_text.h"
#include "base/html/plot.h"
#include "compiler/schedule/space/config.h"
#include "compiler/schedule/space/family.h"
#include "costmodel/analytic.h"

namespace mlc::report {
namespace {

using html::Axis;
using html::Bar;
using html::BarChart;
using html::BarFigure;
using html::DurationText;
using html::LinearAxis;
using html::LogAxis;
using html::Mark;
using html::Markup;
using html::NumberText;
using html::PercentText;
using html::Plot;
using html::PlotFigure;
using html::Point;
using html::Series;
using html::Thinned;
using html::TimeUnit;
using html::Unit;

constexpr size_t kMostPoints = 240;     // of each series
constexpr size_t kMostEstimates = 240;  // of each task
constexpr int kBins = 24;
constexpr double kLastRatio = 4;  // times the best: what is slower is in the last bar

struct Arm {
  std::string_view words;  // of the log, separated by spaces
  const char* name;
  int color;
};
constexpr std::array<Arm, 5> kArms = {{{"default transfer", "first configs", 1},
                                       {"model", "cost model", 0},
                                       {"neighbour descent", "neighbours of the best", 2},
                                       {"verify", "confirmation", 3},
                                       {"", "other", 7}}};
constexpr size_t kConfirmed = 3;  // of kArms

size_t ArmOf(const std::string& arm) {
  const std::string word = " " + arm + " ";
  for (size_t i = 0; i + 1 < kArms.size(); ++i) {
    if ((" " + std::string(kArms[i].words) + " ").find(word) != std::string::npos) return i;
  }
  return kArms.size() - 1;
}

double LongestNs(const TaskData& task) {
  double longest = 0;
  for (const db::Record& record : task.records) {
    longest = std::max(longest, record.measurement.median_ns);
  }
  return longest;
}

double ShortestNs(const TaskData& task) {
  double shortest = 0;
  for (const db::Record& record : task.records) {
    const double ns = record.measurement.median_ns;
    if (record.measurement.outcome != Outcome::kOk) continue;
    if (shortest == 0 || ns < shortest) shortest = ns;
  }
  return shortest;
}

// Estimates cost a microsecond or more: of many records, every n-th, and the chosen one.
std::vector<const db::Record*> SomeCorrect(const TaskData& task) {
  std::vector<const db::Record*> correct, some;
  for (const db::Record& record : task.records) {
    const bool is_correct = record.measurement.outcome == Outcome::kOk;
    if (is_correct && !db::IsConfirmation(record)) correct.push_back(&record);
  }
  const size_t step = correct.size() / kMostEstimates + 1;
  for (size_t i = 0; i < correct.size(); i += step) some.push_back(correct[i]);
  if (task.chosen) some.push_back(&*task.chosen);
  return some;
}

std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    const double mean = static_cast<double>(i + end - 1) / 2;
    for (; i < end; ++i) ranks[order[i]] = mean;
  }
  return ranks;
}

}  // namespace

Markup TrialsFigure(const TaskData& task) {
  const double best = ShortestNs(task), longest = LongestNs(task);
  if (best <= 0) return {};
  const Unit unit = TimeUnit(best);
  std::array<std::vector<Point>, kArms.size()> by_arm;
  std::vector<Point> failed, stopped, leading;
  double lead = 0, number = 0;
  for (const db::Record& record : task.records) {
    const Measurement& m = record.measurement;
    const Point point = {++number, m.median_ns / unit.size};
    if (m.outcome == Outcome::kTooSlow) {
      stopped.push_back(point);
    } else if (m.outcome != Outcome::kOk) {
      failed.push_back({number, longest / unit.size});
    } else {
      by_arm[ArmOf(record.arm)].push_back(point);
      const bool single = !db::IsConfirmation(record);
      if (single && (lead == 0 || point.y < lead)) leading.push_back({number, lead = point.y});
    }
  }
  leading.push_back({number, lead});
  Plot plot;
  plot.title = "All trials";
  if (!by_arm[kConfirmed].empty()) {
    plot.note = "Confirmed times are longer: they are taken side by side with other leaders.";
  }
  plot.description = std::to_string(task.records.size()) + " trials, the fastest " +
                     DurationText(best) + ", " + std::to_string(failed.size()) + " failed and " +
                     std::to_string(stopped.size()) + " stopped early.";
  plot.x = LinearAxis("trials of the task", 0, number);
  plot.y = LogAxis("time (" + unit.name + ")", best / unit.size, longest / unit.size);
  plot.series.push_back({"best single time", 7, Mark::kSteps, Thinned(leading, kMostPoints)});
  for (size_t i = kArms.size(); i-- > 0;) {
    if (by_arm[i].empty()) continue;
    plot.series.push_back(
        {kArms[i].name, kArms[i].color, Mark::kDots, Thinned(by_arm[i], kMostPoints)});
  }
  if (!stopped.empty()) {
    plot.series.push_back(
        {"stopped early: at least", 6, Mark::kCrosses, Thinned(stopped, kMostPoints)});
  }
  if (!failed.empty()) {
    plot.series.push_back({"failed", 4, Mark::kCrosses, Thinned(failed, kMostPoints)});
  }
  return PlotFigure(plot);
}

Markup DistributionFigure(const TaskData& task) {
  const double best = ShortestNs(task);
  if (best <= 0 || task.records.size() < 3) return {};
  const double longest = std::min(kLastRatio, std::max(1.2, LongestNs(task) / best));
  const Axis x = LinearAxis("time over the best", 1, longest);
  const double width = (x.high - x.low) / kBins;
  std::array<std::array<double, kBins>, 2> counts{};
  for (const db::Record& record : task.records) {
    const Measurement& m = record.measurement;
    const bool stopped = m.outcome == Outcome::kTooSlow;
    if (m.outcome != Outcome::kOk && !stopped) continue;
    const int bin = static_cast<int>(std::min((m.median_ns / best - x.low) / width, 1e6));
    counts[stopped ? 1 : 0][static_cast<size_t>(std::clamp(bin, 0, kBins - 1))] += 1;
  }
  Series correct{"correct", 0, Mark::kColumns, {}, width};
  Series all{"stopped early, at least", 6, Mark::kColumns, {}, width};
  double highest = 0, within = 0, total = 0;
  for (size_t bin = 0; bin < kBins; ++bin) {
    const double at = x.low + width * static_cast<double>(bin);
    const double sum = counts[0][bin] + counts[1][bin];
    if (counts[0][bin] > 0) correct.points.push_back({at, counts[0][bin]});
    if (counts[1][bin] > 0) all.points.push_back({at, sum});
    highest = std::max(highest, sum);
    total += sum;
    if (at < 1.1) within += sum;
  }
  if (all.points.empty()) all.name.clear();
  Plot plot;
  plot.title = "Distribution of the trials";
  plot.note = "The last bar has all that is slower.";
  plot.description = NumberText(within) + " of " + NumberText(total) +
                     " timed trials are within about 10 % of the fastest.";
  plot.x = x;
  plot.y = LinearAxis("trials", 0, highest);
  plot.series = {std::move(all), std::move(correct)};
  return PlotFigure(plot);
}

Markup KnobsFigure(const std::vector<KnobWeight>& knobs) {
  BarChart chart;
  chart.title = "What decided the time";
  chart.note = "Share of the variance of the time that a knob alone accounts for.";
  chart.description = "A bar for each knob; the table has the numbers.";
  chart.series = {"share"};
  chart.colors = {0};
  for (const KnobWeight& knob : knobs) {
    if (knob.tried.size() < 2) continue;
    chart.bars.push_back({knob.name, {knob.weight}, {PercentText(knob.weight)}});
  }
  std::stable_sort(chart.bars.begin(), chart.bars.end(),
                   [](const Bar& a, const Bar& b) { return a.values[0] > b.values[0]; });
  if (chart.bars.size() > 8) chart.bars.resize(8);
  return chart.bars.empty() ? Markup() : BarFigure(chart);
}

std::vector<Predicted> PredictedTimes(const TaskData& task, const target::Target& target) {
  std::vector<Predicted> times;
  if (!task.parsed) return times;
  std::map<const schedule::Family*, std::unique_ptr<const schedule::Problem>> problems;
  for (const db::Record* record : SomeCorrect(task)) {
    const Result<schedule::Config> config = schedule::Config::Parse(record->config);
    if (!config.ok()) continue;
    const schedule::Family* family = schedule::FindFamily(config->family);
    if (family == nullptr || !family->Accepts(*task.parsed, target)) continue;
    std::unique_ptr<const schedule::Problem>& problem = problems[family];
    if (problem == nullptr) problem = family->Open(*task.parsed, target);
    if (problem->MakeSpace().RankOf(*config) < 0) continue;
    if (problem->Check(*config) != schedule::RejectReason::kNone) continue;
    const double ns = costmodel::EstimateKernel(problem->Facts(*config), target).total_ns;
    if (ns > 0) times.push_back({ns, record->measurement.median_ns});
  }
  return times;
}

double RankCorrelation(const std::vector<Predicted>& times) {
  if (times.size() < 3) return 0;
  std::vector<double> estimates, measured;
  for (const Predicted& time : times) {
    estimates.push_back(time.estimate_ns);
    measured.push_back(time.measured_ns);
  }
  const std::vector<double> a = RanksOf(estimates), b = RanksOf(measured);
  const double mean = static_cast<double>(times.size() - 1) / 2;
  double both = 0, first = 0, second = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean) * (b[i] - mean);
    first += (a[i] - mean) * (a[i] - mean);
    second += (b[i] - mean) * (b[i] - mean);
  }
  return first > 0 && second > 0 ? both / std::sqrt(first * second) : 0;
}

Markup PredictedFigure(const std::vector<Predicted>& times) {
  if (times.size() < 3) return {};
  double low = times[0].measured_ns, high = low;
  for (const Predicted& time : times) {
    low = std::min({low, time.estimate_ns, time.measured_ns});
    high = std::max({high, time.estimate_ns, time.measured_ns});
  }
  const Unit unit = TimeUnit(low);
  std::vector<Point> points;
  for (const Predicted& time : times) {
    points.push_back({time.estimate_ns / unit.size, time.measured_ns / unit.size});
  }
  Plot plot;
  plot.title = "Estimated and measured";
  plot.note = "Estimates of the analytic model, without what the search learned.";
  plot.description = "Rank correlation " + NumberText(RankCorrelation(times), 2) + " over " +
                     std::to_string(times.size()) + " configs.";
  plot.x = LogAxis("estimated (" + unit.name + ")", low / unit.size, high / unit.size, 6);
  plot.y = LogAxis("measured (" + unit.name + ")", low / unit.size, high / unit.size);
  plot.series = {
      {"equal", 7, Mark::kDashes, {{plot.x.low, plot.x.low}, {plot.x.high, plot.x.high}}},
      {"configs", 0, Mark::kDots, std::move(points)},
      {"chosen",
       1,
       Mark::kBigDots,
       {{times.back().estimate_ns / unit.size, times.back().measured_ns / unit.size}}}};
  return PlotFigure(plot);
}

}  // namespace mlc::report
