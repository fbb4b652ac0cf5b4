#include "server/jobs/job_progress.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>
#include <utility>

#include "server/jobs/job_request.h"

namespace mlc::server {
namespace {

using Json = nlohmann::ordered_json;

// The form is that of protobuf's JSON, which rows of all releases have: fields that hold their
// default are left out, and 64-bit numbers are texts.
void Put(Json& json, const char* name, const std::string& value) {
  if (!value.empty()) json[name] = value;
}
void Put(Json& json, const char* name, int64_t value) {
  if (value != 0) json[name] = std::to_string(value);
}
// JSON has no other numbers than finite ones.
void Put(Json& json, const char* name, double value) {
  if (value != 0 && std::isfinite(value)) json[name] = value;
}
void Put(Json& json, const char* name, bool value) {
  if (value) json[name] = true;
}

// Each is false for a value of another type.
bool Read(const Json& value, std::string& to) {
  if (!value.is_string()) return false;
  to = value.get<std::string>();
  return true;
}
bool Read(const Json& value, int64_t& to) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
  return error == std::errc() && end == text.data() + text.size();
}
bool Read(const Json& value, double& to) {
  // Releases that wrote other numbers than finite ones wrote them as texts; they say nothing.
  if (value.is_string()) return true;
  if (!value.is_number()) return false;
  to = value.get<double>();
  return true;
}
bool Read(const Json& value, bool& to) {
  if (!value.is_boolean()) return false;
  to = value.get<bool>();
  return true;
}
template <typename Element>
bool Read(const Json& value, std::vector<Element>& to);

template <typename Value>
bool Take(const Json& json, const char* name, Value& to) {
  const auto found = json.find(name);
  return found == json.end() || Read(*found, to);
}

Json ToJson(const TaskFigures& task) {
  Json json = Json::object();
  Put(json, "trials", task.trials);
  Put(json, "bestNs", task.best_ns);
  Put(json, "defaultNs", task.default_ns);
  Put(json, "bestConfig", task.best_config);
  Put(json, "done", task.done);
  Put(json, "priorConfig", task.prior_config);
  Put(json, "estimateNs", task.estimate_ns);
  return json;
}

bool Read(const Json& json, TaskFigures& task) {
  return json.is_object() && Take(json, "trials", task.trials) &&
         Take(json, "bestNs", task.best_ns) && Take(json, "defaultNs", task.default_ns) &&
         Take(json, "bestConfig", task.best_config) && Take(json, "done", task.done) &&
         Take(json, "priorConfig", task.prior_config) && Take(json, "estimateNs", task.estimate_ns);
}

bool Read(const Json& json, JobProgress& progress) {
  return json.is_object() && Take(json, "detail", progress.detail) &&
         Take(json, "trials", progress.trials) &&
         Take(json, "trialsWanted", progress.trials_wanted) &&
         Take(json, "replayed", progress.replayed) && Take(json, "tasks", progress.tasks) &&
         Take(json, "outcomes", progress.outcomes) && Take(json, "elapsedS", progress.elapsed_s) &&
         Take(json, "target", progress.target);
}

template <typename Element>
bool Read(const Json& value, std::vector<Element>& to) {
  if (!value.is_array()) return false;
  for (const Json& element : value) {
    if (!Read(element, to.emplace_back())) return false;
  }
  return true;
}

}  // namespace

std::string ProgressText(const JobProgress& progress) {
  Json json = Json::object();
  Put(json, "detail", progress.detail);
  Put(json, "trials", progress.trials);
  Put(json, "trialsWanted", progress.trials_wanted);
  Put(json, "replayed", progress.replayed);
  for (const TaskFigures& task : progress.tasks) json["tasks"].push_back(ToJson(task));
  for (const int64_t count : progress.outcomes) json["outcomes"].push_back(std::to_string(count));
  Put(json, "elapsedS", progress.elapsed_s);
  Put(json, "target", progress.target);
  // A compiler's words may be no UTF-8.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JobProgress ProgressFrom(const db::JobRow& row) {
  JobProgress progress;
  if (!row.progress.empty() &&
      !Read(Json::parse(row.progress, nullptr, /*allow_exceptions=*/false), progress)) {
    progress = JobProgress();
  }
  progress.tasks.resize(row.tasks.size());
  if (row.progress.empty()) progress.trials = row.trials;
  const Result<JobOptions> options = JobOptions::Parse(row.options);
  if (options.ok()) progress.trials_wanted = options->trials;
  progress.state = row.state;
  if (!row.detail.empty()) progress.detail = row.detail;
  return progress;
}

JobSummary SummaryOf(const db::JobRow& row) {
  JobSummary summary;
  summary.job = row.id.ToText();
  summary.label = row.label;
  summary.state = row.state;
  summary.trials = row.trials;
  summary.target = row.target;
  summary.created_us = row.created_us;
  summary.owner = row.owner;
  summary.priority = row.priority;
  summary.detail = row.detail;
  summary.changed_us = row.changed_us;
  const Result<JobOptions> options = JobOptions::Parse(row.options);
  if (options.ok()) summary.trials_wanted = options->trials;
  return summary;
}

}  // namespace mlc::server
