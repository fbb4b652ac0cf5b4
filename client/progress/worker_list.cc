#include "client/progress/worker_list.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "client/progress/table_text.h"
#include "compiler/target/target.h"

namespace mlc::client {
namespace {

using Json = nlohmann::ordered_json;

std::string StateOf(const proto::WorkerLine& worker) {
  switch (worker.state()) {
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

// The class, or the text itself if it is of a form unknown here.
std::string ClassOf(const proto::WorkerLine& worker) {
  const Result<target::Target> target = target::Target::Parse(worker.target());
  return target.ok() ? target->ClassText() : worker.target();
}

std::string ShortClassOf(const proto::WorkerLine& worker) {
  const Result<target::Target> target = target::Target::Parse(worker.target());
  if (!target.ok()) return "-";
  if (const auto* gpu = target->As<target::GpuTarget>()) {
    return gpu->CudaArch() + " x" + std::to_string(gpu->sms);
  }
  const std::string text = target->ClassText();
  const size_t isa = text.find("isa=") + 4;
  return target->cpu().arch + " " + text.substr(isa, text.find(' ', isa) - isa) + " x" +
         std::to_string(target->cpu().threads);
}

}  // namespace

std::string WorkersTable(const proto::ListWorkersReply& workers) {
  std::vector<std::vector<std::string>> rows = {
      {"WORKER", "STATE", "CLASS", "HOLDS", "RESULTS", "FAILURES", "HEARD", "REASON"}};
  for (const proto::WorkerLine& worker : workers.workers()) {
    rows.push_back({worker.worker(), StateOf(worker), ShortClassOf(worker),
                    std::to_string(worker.holding()), std::to_string(worker.results()),
                    std::to_string(worker.failures()), AgeText(worker.silent_ms() * 1000),
                    worker.reason().empty() ? "-" : worker.reason()});
  }
  return TableText(rows);
}

std::string WorkersJson(const proto::ListWorkersReply& workers) {
  Json json;
  json["schema"] = "mlc.workers/1";
  json["workers"] = Json::array();
  for (const proto::WorkerLine& worker : workers.workers()) {
    Json entry;
    entry["worker"] = worker.worker();
    entry["state"] = StateOf(worker);
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
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace mlc::client
