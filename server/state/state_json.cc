#include "server/state/state_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/outcome.h"
#include "compiler/target/target.h"

namespace mlc::server {
namespace {

using Json = nlohmann::ordered_json;

// Only of a model that has more than one.
void AddVariants(const ModelInfo& model, const JobFigures& figures, Json& json) {
  if (model.variants.size() < 2) return;
  json["variant"] = model.variants[figures.fastest];
  json["variants"] = Json::array();
  for (size_t v = 0; v < model.variants.size(); ++v) {
    const VariantFigures& variant = figures.variants[v];
    json["variants"].push_back({{"name", model.variants[v]},
                                {"model_ms", variant.model_ns / 1e6},
                                {"measured_share", variant.measured_share},
                                {"tasks_without_kernel", variant.missing}});
  }
}

Json SummaryOf(const ModelInfo& model, const JobFigures& figures,
               const proto::JobProgress& progress) {
  Json json;
  json["schema"] = "mlc.tune/1";
  json["state"] = StateText(progress.state());
  json["detail"] = progress.detail();
  json["trials"] = progress.trials();
  json["trials_wanted"] = progress.trials_wanted();
  json["replayed"] = progress.replayed();
  json["elapsed_s"] = progress.elapsed_s();
  json["trials_per_s"] = figures.trials_per_s;
  if (progress.gpu_busy() > 0) json["gpu_busy"] = progress.gpu_busy();
  json["model_ms"] = figures.model().model_ns / 1e6;
  json["measured_share"] = figures.model().measured_share;
  json["default_model_ms"] = figures.default_model_ns / 1e6;
  json["tasks_without_default"] = figures.defaults_missing;
  json["tasks_without_kernel"] = figures.model().missing;
  AddVariants(model, figures, json);
  Json outcomes = Json::object();
  for (int i = 0; i < progress.outcomes_size(); ++i) {
    outcomes[std::string(ToText(static_cast<Outcome>(i)))] = progress.outcomes(i);
  }
  json["outcomes"] = outcomes;
  return json;
}

// The class, or the text itself if it is of a form unknown here.
std::string ClassOf(const proto::WorkerLine& worker) {
  const Result<target::Target> target = target::Target::Parse(worker.target());
  return target.ok() ? target->ClassText() : worker.target();
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

const char* StateText(proto::JobState state) {
  switch (state) {
    case proto::RUNNING:
      return "running";
    case proto::DONE:
      return "done";
    case proto::CANCELLED:
      return "cancelled";
    default:
      return "failed";
  }
}

const char* StateText(proto::WorkerState state) {
  switch (state) {
    case proto::UNTESTED:
      return "untested";
    case proto::READY:
      return "ready";
    case proto::QUARANTINED:
      return "quarantined";
    case proto::DRAINING:
      return "draining";
    case proto::OFFLINE:
      return "offline";
    default:
      return "of a newer server";
  }
}

std::string ProgressJson(const ModelInfo& model, const proto::JobProgress& progress,
                         double seconds_left) {
  Json json = SummaryOf(model, FiguresOf(model, progress), progress);
  if (seconds_left > 0) json["seconds_left"] = seconds_left;
  json["event"] = "progress";
  return Dump(json);
}

std::string JobsJson(const proto::ListJobsReply& jobs) {
  Json json;
  json["schema"] = "mlc.jobs/1";
  json["jobs"] = Json::array();
  for (const proto::JobSummary& job : jobs.jobs()) {
    Json entry;
    entry["job"] = job.job();
    entry["state"] = StateText(job.state());
    entry["owner"] = job.owner();
    entry["priority"] = job.priority();
    entry["trials"] = job.trials();
    entry["trials_wanted"] = job.trials_wanted();
    entry["model"] = job.label();
    entry["target"] = job.target();
    entry["detail"] = job.detail();
    entry["created_us"] = job.created_us();
    entry["changed_us"] = job.changed_us();
    json["jobs"].push_back(entry);
  }
  return Dump(json);
}

std::string WorkersJson(const proto::ListWorkersReply& workers) {
  Json json;
  json["schema"] = "mlc.workers/1";
  json["workers"] = Json::array();
  for (const proto::WorkerLine& worker : workers.workers()) {
    Json entry;
    entry["worker"] = worker.worker();
    entry["state"] = StateText(worker.state());
    entry["reason"] = worker.reason();
    entry["class"] = ClassOf(worker);
    entry["target"] = worker.target();
    entry["build"] = worker.build();
    entry["devices"] = std::max(worker.capabilities().devices(), 1);  // 0: one
    entry["holding"] = worker.holding();
    entry["results"] = worker.results();
    entry["failures"] = worker.failures();
    entry["refused"] = worker.refused();
    entry["silent_ms"] = worker.silent_ms();
    entry["canary_age_ms"] = worker.canary_age_ms();
    json["workers"].push_back(entry);
  }
  return Dump(json);
}

}  // namespace mlc::server
