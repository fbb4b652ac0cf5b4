#include "db/report/tuning_page.h"

#include <algorithm>
#include <numeric>

#include "base/html/number_text.h"
#include "db/report/advice.h"

namespace mlc::report {
namespace {

using html::ClockText;
using html::Element;
using html::Markup;
using html::Number;
using html::NumberText;
using html::PageText;
using html::Paragraph;
using html::PercentText;
using html::Section;
using html::Table;
using html::Time;

Markup Fact(const Markup& value, const Markup& name) {
  return Element("div", Element("b", value) + Element("span", name));
}

int64_t CountOwn(const TuningData& data, bool failed_only) {
  int64_t count = 0;
  for (const TaskData& task : data.tasks) {
    count += std::count_if(task.records.begin(), task.records.end(), [&](const db::Record& r) {
      const Outcome outcome = r.measurement.outcome;
      const bool failed = outcome != Outcome::kOk && outcome != Outcome::kTooSlow;
      return data.IsOwn(r) && (failed || !failed_only);
    });
  }
  return count;
}

Markup Facts(const TuningData& data) {
  Markup facts;
  const double best = data.best_ns(), before = data.before_ns;
  facts += Fact(best > 0 ? Time(best) : Markup("-"), "time of the model's kernels");
  facts += Fact(before > 0 ? Time(before) : Markup("-"), "with the default configs");
  if (best > 0 && before > 0) {
    facts += Fact(Markup(NumberText(before / best)) + "×", "faster than the defaults");
  }
  facts +=
      Fact(Number(static_cast<double>(CountOwn(data, false))), "trials of this job in the log");
  facts += Fact(Number(static_cast<double>(CountOwn(data, true))), "of them failed");
  facts += Fact(Number(static_cast<double>(data.tasks.size())), "tasks");
  return Element("div", facts, {{"class", "facts"}}) + Markup::Trusted("\n");
}

Markup VariantsTable(const TuningData& data) {
  if (data.variants.size() < 2) return {};
  std::vector<std::vector<Markup>> rows;
  for (size_t v = 0; v < data.variants.size(); ++v) {
    const VariantData& variant = data.variants[v];
    const bool known = variant.best_ns > 0 && data.best_ns() > 0;
    rows.push_back({variant.name, known ? Time(variant.best_ns) : Markup("-"),
                    known ? PercentText(variant.best_ns / data.best_ns() - 1) : Markup("-"),
                    v == data.fastest ? "taken by mlc-compile" : ""});
  }
  return Table("Variants of the model", {{"variant"}, {"time", true}, {"slower by", true}, {""}},
               rows);
}

Markup Header(const TuningData& data) {
  const db::JobRow& job = data.job;
  Markup line =
      Markup("Job ") + Element("code", job.id.ToText()) + ", " + std::string(db::ToText(job.state));
  if (job.created_us > 0) line += ", of " + ClockText(job.created_us);
  if (!job.owner.empty()) line += ", by " + job.owner;
  line += Markup(". Log ") + Element("code", data.log) + ".";
  return Element("h1", "Tuning of " + (job.label.empty() ? std::string("a model") : job.label)) +
         Element("p", line, {{"class", "dim"}}) + Markup::Trusted("\n");
}

}  // namespace

std::vector<size_t> TaskOrder(const TuningData& data) {
  std::vector<size_t> order(data.tasks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const TaskData &left = data.tasks[a], &right = data.tasks[b];
    const bool left_used = left.uses[data.fastest] > 0, right_used = right.uses[data.fastest] > 0;
    if (left_used != right_used) return left_used;
    const double left_ns = static_cast<double>(left.uses[data.fastest]) * left.BestNs();
    const double right_ns = static_cast<double>(right.uses[data.fastest]) * right.BestNs();
    return left_ns > right_ns;
  });
  return order;
}

std::string TaskName(const TuningData& data, const std::vector<size_t>& order, size_t number) {
  return std::to_string(number) + ". " + data.tasks[order[number - 1]].summary;
}

Markup AdviceSection(const TuningData& data, const std::vector<size_t>& order) {
  std::vector<std::vector<Markup>> rows;
  for (size_t n = 1; n <= order.size(); ++n) {
    const TaskData& task = data.tasks[order[n - 1]];
    if (task.uses[data.fastest] == 0) continue;
    const Advice advice = AdviceOf(data, task);
    // The verdict stands in the first cell: the last one is out of sight on a phone.
    const Markup name =
        Element("a", TaskName(data, order, n), {{"href", "#task-" + std::to_string(n)}});
    rows.push_back({name + Element("div", advice.verdict, {{"class", "dim"}}),
                    PercentText(data.ShareAfter(task)), PercentText(advice.headroom),
                    Number(static_cast<double>(advice.trials)),
                    Number(static_cast<double>(advice.last_gain))});
  }
  const Markup note = Paragraph(
      "Headroom is what the model would save if the task ran at the peak of the device; kernels of "
      "small tasks never reach it. The last gain is the trial that last made the task 1 % faster.");
  return Section("next", "What would be worth tuning further",
                 note + Table("Tasks by share of the time",
                              {{"task"},
                               {"share", true},
                               {"headroom", true},
                               {"trials", true},
                               {"last gain", true}},
                              rows));
}

Markup TuningBody(const TuningData& data) {
  const std::vector<size_t> order = TaskOrder(data);
  Markup body = Facts(data) + VariantsTable(data);
  body += LatencySection(data);
  body += SharesSection(data, order);
  body += AdviceSection(data, order);
  body += RooflineSection(data, order);
  body += TasksSection(data, order);
  body += MachineSection(data);
  return body;
}

std::string TuningPage(const TuningData& data) {
  return PageText("Tuning of " + data.job.label, Header(data) + TuningBody(data));
}

}  // namespace mlc::report
