#include "client/progress/tune_report.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/outcome.h"
#include "base/text.h"

namespace mlc::client {
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

Json Summary(const ModelInfo& model, const JobFigures& figures,
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

std::string SubmittedJson(const proto::SubmitJobReply& reply) {
  Json json;
  json["schema"] = "mlc.tune/1";
  json["event"] = "submitted";
  json["job"] = reply.job();
  json["resumed"] = reply.resumed();
  json["joined"] = reply.joined();
  return Dump(json);
}

std::string ProgressJson(const ModelInfo& model, const proto::JobProgress& progress,
                         double seconds_left) {
  Json json = Summary(model, FiguresOf(model, progress), progress);
  if (seconds_left > 0) json["seconds_left"] = seconds_left;
  json["event"] = "progress";
  return Dump(json);
}

std::string ResultJson(const TuneOptions& options, const std::string& job, const ModelInfo& model,
                       const proto::JobProgress& progress,
                       const std::optional<WholeModelResult>& whole) {
  const JobFigures figures = FiguresOf(model, progress);
  Json json = Summary(model, figures, progress);
  json["event"] = "result";
  json["job"] = job;
  json["model"] = options.model;
  json["log"] = options.log;
  json["target"] = progress.target();
  json["precision"] = options.precision;
  if (whole) {
    json["whole_model"] = {{"before_ms", whole->before_ms},
                           {"after_ms", whole->after_ms},
                           {"tried", whole->tried},
                           {"taken", whole->taken}};
  }
  json["tasks"] = Json::array();
  for (size_t i = 0; i < model.tasks.size(); ++i) {
    const TaskInfo& info = model.tasks[i];
    Json task;
    task["workload"] = info.workload;
    task["summary"] = info.summary;
    task["label"] = info.label;
    task["occurrences"] = figures.tasks[i].uses;
    if (info.uses.size() > 1) task["uses"] = info.uses;
    task["trials"] = figures.tasks[i].trials;
    task["best_ns"] = figures.tasks[i].best_ns;
    task["estimate_ns"] = figures.tasks[i].estimate_ns;
    task["default_ns"] = figures.tasks[i].default_ns;
    task["roofline_ns"] = figures.tasks[i].roofline_ns;
    task["executed_share"] = figures.tasks[i].executed_share;
    task["share"] = figures.tasks[i].share;
    if (static_cast<int>(i) < progress.tasks_size()) {
      task["config"] = progress.tasks(static_cast<int>(i)).best_config();
    }
    json["tasks"].push_back(task);
  }
  return Dump(json);
}

std::string WholeModelText(const WholeModelResult& result) {
  if (result.tried == 0) return "No runner-up was timed in the whole model.\n";
  char line[160];
  std::snprintf(line, sizeof(line),
                "In the whole model: %.3f ms before, %.3f ms with %d of %d runners-up\n",
                result.before_ms, result.after_ms, result.taken, result.tried);
  return line;
}

std::string CompileCommand(const TuneOptions& options) {
  const std::string name = std::filesystem::path(options.model).stem().string() + "-lib";
  std::string command = "mlc-compile";
  for (const std::string& word : options.ModelWords()) command += " " + ShellQuoted(word);
  command += options.SourceFlags() + " -o " + ShellQuoted(name);
  return command;
}

}  // namespace mlc::client
