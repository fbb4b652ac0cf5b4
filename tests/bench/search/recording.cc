#include "tests/bench/search/recording.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/outcome.h"

namespace mlc::bench {
namespace {

using nlohmann::json;

constexpr char kSelection[] = ".selection.jsonl";
constexpr char kTimes[] = ".times.jsonl";
// How much slower than the fastest a config may be and still be measured in full.
constexpr double kFullyMeasured = 3;

// The lines of the file; one that was cut is left out.
std::vector<json> LinesOf(const std::string& path) {
  std::vector<json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    json value = json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (value.is_object()) lines.push_back(std::move(value));
  }
  return lines;
}

}  // namespace

Status WriteSelection(const std::string& folder, const std::string& name,
                      const std::string& workload, const std::string& target,
                      const SelectionSizes& sizes, uint64_t seed, const Selection& selection) {
  std::ofstream out(folder + "/" + name + kSelection);
  out << json{{"task", name},           {"workload", workload},     {"selected_for", target},
              {"factor", sizes.factor}, {"best", sizes.best},       {"random", sizes.random},
              {"seed", seed},           {"legal", selection.legal}, {"pruned", selection.pruned}}
      << "\n";
  for (const std::string& config : selection.configs) out << json{{"config", config}} << "\n";
  out.flush();
  return out ? Status() : Internal("cannot write the selection of '" + name + "'");
}

Result<Recording> Recording::Open(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(kSelection)) paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) return NotFound("no selections in '" + folder + "'");
  Recording recording;
  for (const std::string& path : paths) {
    const std::vector<json> lines = LinesOf(path);
    if (lines.empty() || !lines[0].contains("workload")) {
      return DataLoss("'" + path + "' is no selection");
    }
    Task task;
    task.name = lines[0].value("task", "");
    task.workload = lines[0].value("workload", "");
    for (const json& line : lines) {
      if (line.contains("config")) task.configs.push_back(line["config"]);
    }
    const std::string times = path.substr(0, path.size() - sizeof(kSelection) + 1) + kTimes;
    MLC_TRY(ReadTimes(times, task));
    task.out.open(times, std::ios::app);
    // Ends a line that was cut.
    task.out << "\n";
    recording.tasks_.push_back(std::move(task));
  }
  return recording;
}

Status Recording::ReadTimes(const std::string& path, Task& task) {
  for (const json& line : LinesOf(path)) {
    Measurement m;
    m.outcome = MLC_TRY(ParseOutcome(line.value("outcome", "")));
    m.median_ns = line.value("ns", 0.0);
    Keep(task, line.value("config", ""), m);
  }
  return Status();
}

void Recording::Keep(Task& task, const std::string& config, const Measurement& measurement) {
  task.measured[config].push_back(measurement);
  if (measurement.outcome != Outcome::kOk) return;
  task.best_ns =
      task.best_ns == 0 ? measurement.median_ns : std::min(task.best_ns, measurement.median_ns);
}

std::optional<Recording::Next> Recording::TakeFirst() {
  for (size_t tried = 0; tried < tasks_.size(); ++tried) {
    const size_t number = turn_++ % tasks_.size();
    Task& task = tasks_[number];
    while (task.next < task.configs.size() && task.measured.contains(task.configs[task.next])) {
      ++task.next;
    }
    if (task.next == task.configs.size()) continue;
    return Next{number, task.configs[task.next++], kFullyMeasured * task.best_ns};
  }
  return std::nullopt;
}

std::optional<Recording::Next> Recording::TakeAgain(size_t fastest, size_t times) {
  for (size_t tried = 0; tried < tasks_.size(); ++tried) {
    const size_t number = turn_++ % tasks_.size();
    Task& task = tasks_[number];
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [config, all] : task.measured) {
      if (all.front().outcome == Outcome::kOk) order.emplace_back(all.front().median_ns, config);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), fastest));
    // One round after the other, so that the measurements of a config are apart.
    for (size_t round = 2; round <= times; ++round) {
      for (const auto& [ns, config] : order) {
        size_t& taken = task.taken.try_emplace(config, task.measured[config].size()).first->second;
        if (taken >= round) continue;
        ++taken;
        return Next{number, config, 0};
      }
    }
  }
  return std::nullopt;
}

Status Recording::Add(size_t number, const std::string& config, const std::string& target,
                      const Measurement& measurement) {
  if (measurement.outcome == Outcome::kInfra) return Status();
  Task& task = tasks_[number];
  Keep(task, config, measurement);
  json line = {{"config", config},
               {"outcome", ToText(measurement.outcome)},
               {"ns", measurement.median_ns},
               {"p10", measurement.p10_ns},
               {"p90", measurement.p90_ns},
               {"build_ms", measurement.build_ms},
               {"device_ms", measurement.device_ms}};
  if (task.measured.size() == 1) line["target"] = target;
  if (measurement.outcome != Outcome::kOk) line["detail"] = measurement.detail.substr(0, 200);
  task.out << line.dump(-1, ' ', false, json::error_handler_t::replace) << "\n" << std::flush;
  return task.out ? Status() : Internal("cannot write the times of '" + task.name + "'");
}

std::string Recording::Summary() const {
  std::ostringstream text;
  for (const Task& task : tasks_) {
    text << task.name << ": " << task.measured.size() << " of " << task.configs.size()
         << " measured, fastest " << task.best_ns / 1e3 << " us\n";
  }
  return text.str();
}

}  // namespace mlc::bench
