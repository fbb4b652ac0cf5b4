// The tasks of a report, each folded: what was chosen and why, what was tried, rejected and failed.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/html/number_text.h"
#include "base/quantile.h"
#include "compiler/schedule/cuda/user_kernel/user_kernel.h"
#include "compiler/schedule/space/family.h"
#include "db/report/advice.h"
#include "db/report/explain.h"
#include "db/report/knob_weights.h"
#include "db/report/task_charts.h"
#include "db/report/tuning_page.h"

namespace mlc::report {
namespace {

using html::Details;
using html::DurationText;
using html::Element;
using html::Grid;
using html::Markup;
using html::Number;
using html::NumberText;
using html::Paragraph;
using html::PercentText;
using html::Section;
using html::Shortened;
using html::Table;

constexpr int64_t kSpacePoints = 20'000;  // of each family, looked at
constexpr size_t kMostDetail = 160;       // characters of a failure's message
constexpr size_t kMostText = 6000;        // characters of a workload

constexpr size_t kOutcomes = 8;
constexpr std::array<const char*, kOutcomes> kOutcomeWords = {"correct and timed",
                                                              "the compiler refused it",
                                                              "the compiler did not end in time",
                                                              "the kernel crashed",
                                                              "the kernel did not end in time",
                                                              "the result was wrong",
                                                              "stopped early, being too slow",
                                                              "lost with its worker"};

Markup OutcomesTable(const TaskData& task) {
  struct Row {
    int64_t count = 0;
    std::string example;
  };
  std::array<Row, kOutcomes> rows;
  for (const db::Record& record : task.records) {
    Row& row = rows[static_cast<size_t>(record.measurement.outcome)];
    ++row.count;
    if (row.example.empty()) row.example = record.measurement.detail;
  }
  std::vector<std::vector<Markup>> cells;
  for (size_t i = 0; i < kOutcomes; ++i) {
    if (rows[i].count == 0) continue;
    const auto count = static_cast<double>(rows[i].count);
    cells.push_back({kOutcomeWords[i], std::string(ToText(static_cast<Outcome>(i))), Number(count),
                     PercentText(count / static_cast<double>(task.records.size())),
                     Shortened(rows[i].example, kMostDetail)});
  }
  return Table("How the trials ended",
               {{"end"}, {"outcome"}, {"trials", true}, {"share", true}, {"for example"}}, cells);
}

// Of every family that takes the workload: how much of its space is legal, and why the rest is not.
Markup RejectedTable(const graph::Workload& workload, const target::Target& target) {
  std::vector<std::vector<Markup>> cells;
  for (const schedule::Family* family : schedule::FamiliesFor(workload, target)) {
    const SpaceCounts counts = CountSpace(workload, target, *family, kSpacePoints);
    for (size_t i = 0; i < counts.by_reason.size(); ++i) {
      if (counts.by_reason[i] == 0) continue;
      const auto reason = static_cast<schedule::RejectReason>(i);
      const bool legal = reason == schedule::RejectReason::kNone;
      const auto share =
          static_cast<double>(counts.by_reason[i]) / static_cast<double>(counts.seen);
      cells.push_back({std::string(family->name()), Number(static_cast<double>(counts.points)),
                       legal ? "legal" : std::string(schedule::ToText(reason)), PercentText(share),
                       legal ? "" : std::string(schedule::Explain(reason))});
    }
  }
  if (cells.empty()) return {};
  return Table("Configs that are never tried, by reason",
               {{"family"}, {"configs", true}, {"reason"}, {"share", true}, {""}}, cells);
}

std::string ValuesText(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) {
    if (!text.empty()) text += ", ";
    text += std::to_string(value);
  }
  return text;
}

Markup KnobsTable(const std::vector<KnobWeight>& knobs) {
  if (knobs.empty()) return {};
  std::vector<std::vector<Markup>> cells;
  for (const KnobWeight& knob : knobs) {
    const bool compared = knob.tried.size() > 1;
    cells.push_back({Element("code", knob.name), Number(static_cast<double>(knob.chosen)),
                     compared ? PercentText(knob.weight) : "-",
                     knob.without > 0 ? NumberText(knob.without) + "×" : "-",
                     ValuesText(knob.tried)});
  }
  return Table("Knobs of the chosen config",
               {{"knob"},
                {"chosen", true},
                {"of the variance", true},
                {"best with another value", true},
                {"values tried"}},
               cells);
}

// What the cost model said of the configs that it ranked, and what came of it.
Markup RanksTable(const TaskData& task) {
  static constexpr std::array<std::pair<int64_t, const char*>, 4> kRanks = {
      {{1, "1"}, {8, "2 to 8"}, {64, "9 to 64"}, {INT64_MAX, "above"}}};
  double best = 0;
  std::array<std::vector<double>, kRanks.size()> times;
  for (const db::Record& record : task.records) {
    if (record.measurement.outcome != Outcome::kOk) continue;
    const double ns = record.measurement.median_ns;
    if (best == 0 || ns < best) best = ns;
    if (record.predicted_rank <= 0 || db::IsConfirmation(record)) continue;
    size_t row = 0;
    while (record.predicted_rank > kRanks[row].first) ++row;
    times[row].push_back(ns);
  }
  std::vector<std::vector<Markup>> cells;
  for (size_t row = 0; row < kRanks.size(); ++row) {
    if (times[row].empty()) continue;
    std::sort(times[row].begin(), times[row].end());
    cells.push_back({kRanks[row].second, Number(static_cast<double>(times[row].size())),
                     NumberText(Quantile(times[row], 0.5) / best) + "×",
                     NumberText(times[row].front() / best) + "×"});
  }
  if (cells.empty()) return {};
  return Table("Rank that the cost model gave, and the time over the best",
               {{"rank"}, {"trials", true}, {"median", true}, {"fastest", true}}, cells);
}

std::string ChosenWords(const TuningData& data, const TaskData& task) {
  const db::Record& chosen = *task.chosen;
  const Measurement& m = chosen.measurement;
  std::string text = DurationText(m.median_ns) + " (p10 " + DurationText(m.p10_ns) + ", p90 " +
                     DurationText(m.p90_ns) + ", " + std::to_string(m.runs) + " runs";
  if (m.cold_ns > 0) text += "; with cold caches " + DurationText(m.cold_ns);
  text += "), record " + std::to_string(chosen.id);
  if (!data.IsOwn(chosen)) text += ", of another job";
  if (db::IsConfirmation(chosen)) text += ", confirmed side by side with other leaders";
  if (task.before && task.BestNs() > 0) {
    text += ". The default config took " + DurationText(task.BeforeNs()) + ": " +
            NumberText(task.BeforeNs() / task.BestNs()) + " times as long";
  }
  return text + ".";
}

Markup ChosenPart(const TuningData& data, const TaskData& task) {
  if (!task.chosen) return Paragraph("The log has no correct kernel of this task.");
  Markup part =
      Paragraph(Markup("Chosen: ") + Element("code", schedule::BriefConfig(task.chosen->config)));
  part += Paragraph(ChosenWords(data, task));
  if (!task.parsed) return part;
  const Result<Explanation> explained = ExplainConfig(*task.parsed, data.target, *task.chosen);
  if (!explained.ok()) return part + Paragraph(explained.status().message());
  if (!explained->bottleneck.empty()) {
    part += Paragraph(Markup("Judgement: ") + explained->bottleneck);
  }
  return part + Details("What it computes and moves", Element("pre", explained->text));
}

Markup TaskBody(const TuningData& data, const TaskData& task) {
  Markup body = ChosenPart(data, task);
  body += Paragraph(Markup("Further tuning: ") + AdviceOf(data, task).verdict);
  if (task.outdated > 0) {
    body += Paragraph(std::to_string(task.outdated) +
                      " further records are of kernels that this version does not make.");
  }
  const std::vector<KnobWeight> knobs = WeighKnobs(task);
  const std::vector<Predicted> predicted = PredictedTimes(task, data.target);
  body += Grid({TrialsFigure(task), DistributionFigure(task), PredictedFigure(predicted),
                KnobsFigure(knobs)});
  if (predicted.size() >= 3) {
    body += Paragraph("Estimates and measurements have a rank correlation of " +
                      NumberText(RankCorrelation(predicted), 2) +
                      " (1: the same order, 0: unrelated).");
  }
  body += KnobsTable(knobs) + RanksTable(task);
  if (!task.records.empty()) body += OutcomesTable(task);
  if (task.parsed) {
    body += RejectedTable(*task.parsed, data.target);
    body += Details("The workload as text",
                    Element("pre", Shortened(task.parsed->ToText(), kMostText)));
  }
  return body;
}

Markup TaskHead(const TuningData& data, const std::vector<size_t>& order, size_t number) {
  const TaskData& task = data.tasks[order[number - 1]];
  std::string text = TaskName(data, order, number);
  if (task.BestNs() > 0) text += " · " + DurationText(task.BestNs());
  if (task.BestNs() > 0 && task.BeforeNs() > 0) {
    text += " · " + NumberText(task.BeforeNs() / task.BestNs()) + "×";
  }
  text += task.uses[data.fastest] > 0 ? " · " + PercentText(data.ShareAfter(task)) + " of the time"
                                      : " · not in the fastest variant";
  return text;
}

}  // namespace

Markup TasksSection(const TuningData& data, const std::vector<size_t>& order) {
  Markup content = Paragraph(
      "Each task is one fused part of the model. Open one for its config, its trials and what "
      "failed. Records of all jobs on this class of target count.");
  for (size_t n = 1; n <= order.size(); ++n) {
    const Markup task =
        Details(TaskHead(data, order, n), TaskBody(data, data.tasks[order[n - 1]]), n == 1);
    content += Element("div", task, {{"id", "task-" + std::to_string(n)}});
  }
  return Section("tasks", "Tasks", content);
}

}  // namespace mlc::report
