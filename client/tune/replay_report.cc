#include "client/tune/replay_report.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "client/compile/choose_kernels.h"
#include "client/progress/progress_view.h"
#include "client/progress/task_table.h"
#include "client/progress/tune_report.h"
#include "compiler/package/origin.h"

namespace mlc::client {
namespace {

using Json = nlohmann::ordered_json;

// The report as the progress of a job that has ended.
proto::JobProgress ProgressOf(const ReplayReport& report) {
  proto::JobProgress progress;
  progress.set_state(proto::DONE);
  progress.set_target(report.target);
  progress.set_trials(report.search.answered);
  progress.set_trials_wanted(report.search.wanted);
  progress.set_replayed(report.search.answered);
  for (const int64_t count : report.search.outcomes) progress.add_outcomes(count);
  for (size_t i = 0; i < report.choices.size(); ++i) {
    const package::Choice& choice = report.choices[i];
    proto::TaskProgress& task = *progress.add_tasks();
    task.set_default_ns(report.default_ns[i]);
    if (IsTuned(choice)) {
      task.set_best_ns(choice.expected_ns);
      task.set_best_config(choice.config.ToText());
    } else {
      task.set_estimate_ns(choice.expected_ns);
    }
  }
  return progress;
}

std::string SearchText(const server::ReplayedSearch& search) {
  if (!search.is_known) {
    return "The log has no trial of this job; a search with other tasks or another seed is another "
           "job.\n";
  }
  std::string text = "Search: the log has " + std::to_string(search.answered) + " of " +
                     std::to_string(search.wanted) + " trials of job " + search.job.ToText();
  if (search.unknown > 0) {
    text += ", and no record of " + std::to_string(search.unknown) + " that it proposes";
  }
  return text + (search.detail.empty() ? ".\n" : "; " + search.detail + ".\n");
}

std::string InsteadText(const package::Choice& choice) {
  std::string text = IsTransferred(choice) ? "a transferred config" : "the default config";
  if (choice.expected_ns > 0) text += ", about " + TimeText(choice.expected_ns);
  return text;
}

std::string MissingText(const TuneOptions& options, const ReplayReport& report) {
  const std::vector<size_t> missing = report.Missing();
  if (missing.empty()) return "Every task has a record.\n";
  std::string text = std::to_string(missing.size()) + (missing.size() == 1 ? " task" : " tasks") +
                     " without a record:\n";
  for (const size_t i : missing) {
    text += "  " + report.model.tasks[i].summary + " (" + InsteadText(report.choices[i]) + ")\n";
  }
  TuneOptions tuning = options;
  if (tuning.trials == 0) tuning.trials = 64 * static_cast<int64_t>(missing.size());
  return text + "Tune them with:\n  " + tuning.Command() + "\n";
}

}  // namespace

std::vector<size_t> ReplayReport::Missing() const {
  const size_t variant = server::FiguresOf(model, ProgressOf(*this)).fastest;
  std::vector<size_t> missing;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (model.tasks[i].uses[variant] > 0 && !IsTuned(choices[i])) missing.push_back(i);
  }
  return missing;
}

std::string ReplayText(const TuneOptions& options, const ReplayReport& report) {
  return FinalTable(report.model, ProgressOf(report)) + SearchText(report.search) +
         MissingText(options, report) + "Compile it with:\n  " + CompileCommand(options) + "\n";
}

std::string ReplayJson(const TuneOptions& options, const ReplayReport& report) {
  Json json = Json::parse(ResultJson(options, report.search.job.ToText(), report.model,
                                     ProgressOf(report), std::nullopt));
  Json replay = {{"known", report.search.is_known},
                 {"answered", report.search.answered},
                 {"unknown", report.search.unknown}};
  replay["missing"] = Json::array();
  for (const size_t i : report.Missing()) {
    const server::TaskInfo& task = report.model.tasks[i];
    replay["missing"].push_back({{"workload", task.workload},
                                 {"summary", task.summary},
                                 {"config", report.choices[i].config.ToText()},
                                 {"estimate_ns", report.choices[i].expected_ns}});
  }
  for (size_t i = 0; i < report.choices.size(); ++i) {
    json["tasks"][i]["origin"] = package::ToText(report.choices[i].origin);
  }
  json["replay"] = std::move(replay);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mlc::client
