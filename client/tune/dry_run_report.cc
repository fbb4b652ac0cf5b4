#include "client/tune/dry_run_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/format.h"
#include "client/progress/progress_view.h"

namespace mlc::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kNamedNodes = 4;
constexpr size_t kColumns = 96;

std::string CountText(int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

// "Conv 53, Relu 49, ...", the most frequent first, in lines.
std::string OperatorsText(const graph::onnx::ModelSurvey& survey) {
  std::vector<std::pair<std::string, int64_t>> uses(survey.operators.begin(),
                                                    survey.operators.end());
  std::stable_sort(uses.begin(), uses.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = " ";
  size_t column = text.size();
  for (size_t i = 0; i < uses.size(); ++i) {
    const std::string word = " " + uses[i].first + " " + std::to_string(uses[i].second) +
                             (i + 1 < uses.size() ? "," : "");
    if (column + word.size() > kColumns) {
      text += "\n ";
      column = 1;
    }
    text += word;
    column += word.size();
  }
  return text + "\n";
}

std::string ObstacleText(const graph::onnx::Obstacle& obstacle) {
  std::string text = "  " + obstacle.what;
  for (size_t i = 0; i < std::min(kNamedNodes, obstacle.names.size()); ++i) {
    text += (i == 0 ? " " : ", ") + ("'" + obstacle.names[i] + "'");
  }
  if (obstacle.count > static_cast<int64_t>(kNamedNodes)) {
    text += " and others, " + std::to_string(obstacle.count) + " in all";
  }
  text += ": " + obstacle.why + "\n";
  if (!obstacle.instead.empty()) text += "      supported: " + obstacle.instead + "\n";
  return text;
}

std::string ObstaclesText(const DryRunResult& result) {
  int64_t count = static_cast<int64_t>(result.without_kernel.size());
  std::string text;
  for (const graph::onnx::Obstacle& obstacle : result.survey.obstacles) {
    count += obstacle.count;
    text += ObstacleText(obstacle);
  }
  for (const std::string& task : result.without_kernel) {
    text += "  task " + task + ": no family generates kernels for it on this target\n";
  }
  text = "not supported, in " + CountText(count, "place") + ":\n" + text;
  if (result.survey.unchecked > 0) {
    text += "  " + CountText(result.survey.unchecked, "node") +
            " could not be checked, because what they read depends on the above\n";
  }
  return text;
}

std::string TasksText(const DryRunResult& result) {
  int64_t executions = 0;
  for (const server::TaskInfo& task : result.tasks.tasks) executions += task.uses.front();
  std::string text = CountText(static_cast<int64_t>(result.tasks.tasks.size()), "task") + ", " +
                     CountText(executions, "execution") + ":\n  use  task\n";
  for (const server::TaskInfo& task : result.tasks.tasks) {
    // A task of another variant alone.
    const int uses = task.uses.front();
    text += Format("  %3dx ", uses) + " " + task.summary +
            (uses == 0 ? "  (only in another variant)" : "") + "\n";
  }
  return text;
}

std::string SizesText(const DryRunResult& result) {
  std::string text = CountText(static_cast<int64_t>(result.sizes.size()), "combination") +
                     " of sizes, whose tasks are tuned together:\n";
  for (const std::string& sizes : result.sizes) text += "  " + sizes + "\n";
  return text;
}

Json ObstacleJson(const graph::onnx::Obstacle& obstacle) {
  return {{"kind", ToText(obstacle.kind)}, {"what", obstacle.what}, {"names", obstacle.names},
          {"count", obstacle.count},       {"why", obstacle.why},   {"instead", obstacle.instead}};
}

}  // namespace

std::string DryRunText(const DryRunResult& result) {
  std::string text = result.model + ": operator set " + std::to_string(result.survey.opset) +
                     ", for " + result.target + "\noperators:\n" + OperatorsText(result.survey);
  if (!result.sizes.empty()) text += SizesText(result);
  if (!result.tasks.tasks.empty()) text += TasksText(result);
  for (const std::string& note : result.tasks.notes) text += "note: " + note + "\n";
  if (!result.CanBeTuned()) {
    return text + ObstaclesText(result) + "The model cannot be tuned as it is.\n";
  }
  return text + CountText(result.trials, "trial") +
         (result.trials_are_usual ? " (usual for so many tasks)" : "") + " take about " +
         ClockText(result.seconds) + ", within a factor of two on a quiet machine.\n" +
         "The model can be tuned.\n";
}

std::string DryRunJson(const DryRunResult& result) {
  Json json;
  json["schema"] = "mlc.dry-run/1";
  json["model"] = result.model;
  json["target"] = result.target;
  if (!result.sizes.empty()) json["sizes"] = result.sizes;
  json["can_be_tuned"] = result.CanBeTuned();
  json["operator_set"] = result.survey.opset;
  json["operators"] = result.survey.operators;
  json["obstacles"] = Json::array();
  for (const graph::onnx::Obstacle& obstacle : result.survey.obstacles) {
    json["obstacles"].push_back(ObstacleJson(obstacle));
  }
  json["tasks_without_kernel"] = result.without_kernel;
  json["unchecked_nodes"] = result.survey.unchecked;
  json["variants"] = result.tasks.variants;
  json["tasks"] = Json::array();
  for (const server::TaskInfo& task : result.tasks.tasks) {
    json["tasks"].push_back({{"workload", task.workload},
                             {"summary", task.summary},
                             {"label", task.label},
                             {"uses", task.uses},
                             {"flops", task.flops},
                             {"min_bytes", task.min_bytes}});
  }
  json["notes"] = result.tasks.notes;
  json["trials"] = result.trials;
  json["seconds"] = result.seconds;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mlc::client
