#include "client/progress/tune_report.h"

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "server/state/state_json.h"

namespace mlc::client {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string SubmittedJson(const proto::SubmitJobReply& reply) {
  Json json;
  json["schema"] = "mlc.tune/1";
  json["event"] = "submitted";
  json["job"] = reply.job();
  json["resumed"] = reply.resumed();
  json["joined"] = reply.joined();
  return Dump(json);
}

std::string ResultJson(const TuneOptions& options, const std::string& job,
                       const server::ModelInfo& model, const proto::JobProgress& progress,
                       const std::optional<WholeModelResult>& whole) {
  const server::JobFigures figures = server::FiguresOf(model, progress);
  Json json = Json::parse(server::ProgressJson(model, progress));
  json["event"] = "result";
  json["job"] = job;
  json["model"] = options.model;
  json["log"] = options.log;
  json["target"] = progress.target();
  json["precision"] = options.precision;
  if (whole) {
    json["whole_model"] = {{"before_ms", whole->before_ms}, {"after_ms", whole->after_ms},
                           {"asked", whole->asked},         {"tried", whole->tried},
                           {"taken", whole->taken},         {"seconds", whole->seconds}};
  }
  json["tasks"] = Json::array();
  for (size_t i = 0; i < model.tasks.size(); ++i) {
    const server::TaskInfo& info = model.tasks[i];
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
  char line[200];
  if (result.tried == 0) {
    std::snprintf(line, sizeof(line), "No runner-up was timed in the whole model (%.1f s)%s\n",
                  result.seconds,
                  result.asked == 0 ? "." : ": --whole-model N takes the time that N need.");
  } else {
    std::snprintf(line, sizeof(line),
                  "In the whole model: %.3f ms before, %.3f ms with %d of %d runners-up; %d of %d "
                  "were timed, in %.1f s\n",
                  result.before_ms, result.after_ms, result.taken, result.tried, result.tried,
                  result.asked, result.seconds);
  }
  return line;
}

std::string LibraryFolder(const TuneOptions& options) {
  return std::filesystem::path(options.model).stem().string() + "-lib";
}

std::string CompileCommand(const TuneOptions& options) {
  const std::string name = LibraryFolder(options);
  std::string command = "mlc-compile";
  for (const std::string& word : options.ModelWords()) command += " " + ShellQuoted(word);
  // A server answers builds by its own rule.
  if (options.reproducible && options.server.empty()) command += " --reproducible";
  command += options.SourceFlags() + " -o " + ShellQuoted(name);
  return command;
}

}  // namespace mlc::client
