#include "server/fleet/exec_provider.h"

#include <nlohmann/json.hpp>

#include "base/process/command.h"
#include "server/fleet/worker_command.h"

namespace mlc::server::fleet {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema = "mlc.fleet/1";

class ExecProvider : public Provider {
 public:
  ExecProvider(const FleetConfig& config, std::string server, std::stop_token stop)
      : config_(config), server_(std::move(server)), stop_(std::move(stop)) {}

  Status Ensure(const std::string& pool, const std::vector<std::string>& names) override {
    Json workers = Json::array();
    for (const std::string& name : names) {
      workers.push_back({{"name", name}, {"command", WorkerCommand(config_, pool, server_, name)}});
    }
    return Ask("ensure", {{"pool", pool}, {"workers", std::move(workers)}}).status();
  }

  Result<std::vector<PlacedWorker>> List() override {
    const Json answer = MLC_TRY(Ask("list", Json::object()));
    const auto workers = answer.find("workers");
    if (workers == answer.end() || !workers->is_array())
      return BadAnswer("has no list \"workers\"");
    std::vector<PlacedWorker> placed;
    for (const Json& entry : *workers) placed.push_back(MLC_TRY(ReadWorker(entry)));
    return placed;
  }

  Status Drain(const std::string& name) override {
    return Ask("drain", {{"worker", name}}).status();
  }
  Status Kill(const std::string& name) override { return Ask("kill", {{"worker", name}}).status(); }

 private:
  Status BadAnswer(const std::string& what) const {
    return InvalidArgument("the answer of " + config_.command.front() + " " + what +
                           "; docs/reference/fleet-file.md describes it");
  }

  Result<PlacedWorker> ReadWorker(const Json& entry) const {
    const auto text = [&](const char* key) {
      const bool there = entry.is_object() && entry.contains(key) && entry[key].is_string();
      return there ? entry[key].get<std::string>() : std::string();
    };
    PlacedWorker worker;
    worker.name = text("name");
    worker.pool = text("pool");
    worker.where = text("where");
    worker.evicted = text("evicted");
    const std::string state = text("state");
    if (worker.name.empty()) return BadAnswer("has a worker without a name");
    if (state == "pending") {
      worker.state = PlacedState::kPending;
    } else if (state == "running") {
      worker.state = PlacedState::kRunning;
    } else if (state == "ending") {
      worker.state = PlacedState::kEnding;
    } else {
      return BadAnswer("has worker " + worker.name + " in no known state");
    }
    const bool says = entry.contains("requeued") && entry["requeued"].is_boolean();
    worker.requeued = says && entry["requeued"].get<bool>();
    return worker;
  }

  Result<Json> Ask(const char* operation, Json document) const {
    document["schema"] = kSchema;
    document["operation"] = operation;
    document["fleet"] = config_.name;
    Command command;
    command.words = config_.command;
    command.input = document.dump() + "\n";
    command.timeout_ms = config_.command_timeout_ms;
    const std::string output = MLC_TRY(RunChecked(command, stop_));
    Json answer = Json::parse(output, nullptr, false);
    if (!answer.is_object()) return BadAnswer("is not a JSON object");
    if (answer.contains("error")) {
      return Unavailable(config_.command.front() + ": " + answer["error"].dump());
    }
    return answer;
  }

  const FleetConfig config_;
  const std::string server_;
  const std::stop_token stop_;
};

}  // namespace

std::unique_ptr<Provider> MakeExecProvider(const FleetConfig& config, const std::string& server,
                                           std::stop_token stop) {
  return std::make_unique<ExecProvider>(config, server, std::move(stop));
}

}  // namespace mlc::server::fleet
