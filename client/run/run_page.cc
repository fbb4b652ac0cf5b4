#include "client/run/run_page.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/html/bars.h"
#include "base/html/markup.h"
#include "base/html/number_text.h"
#include "base/html/style.h"
#include "base/html/timeline.h"

namespace mlc::client {
namespace {

using html::BarChart;
using html::BarFigure;
using html::ByteText;
using html::Details;
using html::DurationText;
using html::Element;
using html::kSeriesColors;
using html::Markup;
using html::Number;
using html::PageText;
using html::Paragraph;
using html::PercentText;
using html::Section;
using html::Shortened;
using html::Table;
using html::Time;
using html::Timeline;
using html::TimelineFigure;

constexpr size_t kMostBars = 14;
constexpr int kOther = kSeriesColors - 1;  // of what is not among the longest, and of gaps

Markup Fact(const Markup& value, const Markup& name) {
  return Element("div", Element("b", value) + Element("span", name));
}

double SumUs(const RunReport& report) {
  double sum = 0;
  for (const StepTime& step : report.steps) sum += step.median_us;
  return sum;
}

// What whole runs take beyond their kernels: starting them, waiting between them.
double GapUs(const RunReport& report) { return std::max(0.0, report.run_us - SumUs(report)); }

Markup Facts(const RunReport& report) {
  Markup facts = Fact(Time(1e3 * report.run_us), "a run, median");
  facts += Fact(Time(1e3 * SumUs(report)), "sum of its kernels");
  facts += Fact(Time(1e3 * GapUs(report)), "between the kernels");
  facts += Fact(Number(static_cast<double>(report.steps.size())), "kernels");
  facts += Fact(ByteText(static_cast<double>(report.session_bytes)), "working memory");
  facts += report.device < 0 ? Fact(Number(report.threads), "threads")
                             : Fact(Number(report.device), "GPU");
  return Element("div", facts, {{"class", "facts"}}) + Markup::Trusted("\n");
}

// The longest kernels have a colour of their own.
std::map<std::string, int> ColorsOf(const RunReport& report) {
  std::map<std::string, int> colors;
  for (size_t i = 0; i < report.profile.size(); ++i) {
    colors[report.profile[i].label] = std::min(static_cast<int>(i), kOther);
  }
  return colors;
}

Markup TimelineSection(const RunReport& report) {
  std::map<std::string, int> colors = ColorsOf(report);
  Timeline timeline;
  timeline.title = "Kernels in the order of execution";
  timeline.note = "Medians, one after the other. Point at a kernel to see its name.";
  timeline.description = std::to_string(report.steps.size()) + " kernels, " +
                         DurationText(1e3 * SumUs(report)) + " together; the table names them.";
  timeline.unit = "µs";
  for (const StepTime& step : report.steps) {
    timeline.segments.push_back({step.label + ": " + DurationText(1e3 * step.median_us),
                                 step.median_us, colors[step.label]});
  }
  if (GapUs(report) > 0) {
    timeline.segments.push_back(
        {"between the kernels: " + DurationText(1e3 * GapUs(report)), GapUs(report), kOther});
  }
  for (size_t i = 0; i < report.profile.size() && i < size_t{kOther}; ++i) {
    timeline.legend.emplace_back(Shortened(report.profile[i].label, 40), static_cast<int>(i));
  }
  timeline.legend.emplace_back("all others, and between kernels", kOther);
  std::vector<std::vector<Markup>> rows;
  for (size_t i = 0; i < report.steps.size(); ++i) {
    const StepTime& step = report.steps[i];
    rows.push_back({Number(static_cast<double>(i + 1)), step.label, Time(1e3 * step.median_us),
                    Time(1e3 * step.p10_us), Time(1e3 * step.p90_us)});
  }
  const Markup table =
      Table("Kernels in order",
            {{"step", true}, {"kernel"}, {"median", true}, {"p10", true}, {"p90", true}}, rows);
  return Section("timeline", "Timeline",
                 TimelineFigure(timeline) +
                     Paragraph("What whole runs take beyond the sum of their kernels stands at the "
                               "end: a library does not tell where between kernels it passes. The "
                               "working memory is planned ahead and the same during a whole run.") +
                     Details("All kernels as a table", table));
}

Markup KernelsSection(const RunReport& report) {
  BarChart chart;
  chart.title = "Time by kernel";
  chart.note = "The sum over the steps that execute it.";
  chart.description = "A bar for each of the longest kernels; the table has the numbers.";
  chart.series = {"time"};
  chart.colors = {0};
  const double total = SumUs(report);
  std::vector<std::vector<Markup>> rows;
  for (const ProfileRow& row : report.profile) {
    const std::string share = PercentText(total > 0 ? row.median_us / total : 0);
    if (chart.bars.size() < kMostBars) chart.bars.push_back({row.label, {row.median_us}, {share}});
    rows.push_back({row.label, Number(row.calls), Time(1e3 * row.median_us), share});
  }
  return Section("kernels", "Where the time goes",
                 BarFigure(chart) +
                     Table("Kernels by time",
                           {{"kernel"}, {"calls", true}, {"time", true}, {"share", true}}, rows));
}

}  // namespace

std::string RunPage(const RunReport& report, const std::string& name) {
  const Markup body = Element("h1", "Profile of " + name) + Facts(report) + KernelsSection(report) +
                      TimelineSection(report);
  return PageText("Profile of " + name, body);
}

}  // namespace mlc::client
