#include "client/progress/worker_list.h"

#include <vector>

#include "client/progress/table_text.h"
#include "compiler/target/target.h"
#include "server/state/state_json.h"

namespace mlc::client {
namespace {

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
    rows.push_back({worker.worker(), server::StateText(worker.state()), ShortClassOf(worker),
                    std::to_string(worker.holding()), std::to_string(worker.results()),
                    std::to_string(worker.failures()), AgeText(worker.silent_ms() * 1000),
                    worker.reason().empty() ? "-" : worker.reason()});
  }
  return TableText(rows);
}

}  // namespace mlc::client
