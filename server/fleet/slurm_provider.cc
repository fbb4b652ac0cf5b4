#include "server/fleet/slurm_provider.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/process/command.h"
#include "server/fleet/worker_command.h"

namespace mlc::server::fleet {
namespace {

using Json = nlohmann::json;

constexpr const char* kMark = "mlc-fleet";

std::string TextOf(const Json& job, const char* key) {
  const auto found = job.find(key);
  return found != job.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Numbers are plain in older versions, {"set": true, "number": 1} in newer ones.
int64_t NumberOf(const Json& job, const char* key) {
  auto found = job.find(key);
  if (found == job.end()) return 0;
  const Json& value = found->is_object() && found->contains("number") ? (*found)["number"] : *found;
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

// A text in older versions, a list of the state and its flags in newer ones.
std::vector<std::string> StatesOf(const Json& job) {
  const auto found = job.find("job_state");
  std::vector<std::string> states;
  if (found == job.end()) return states;
  if (found->is_string()) states.push_back(found->get<std::string>());
  if (!found->is_array()) return states;
  for (const Json& state : *found) {
    if (state.is_string()) states.push_back(state.get<std::string>());
  }
  return states;
}

// False if the job is over.
bool ReadState(const Json& job, PlacedWorker& worker) {
  const std::vector<std::string> states = StatesOf(job);
  const auto has = [&](const char* state) {
    return std::ranges::find(states, state) != states.end();
  };
  worker.requeued = NumberOf(job, "restart_cnt") > 0 || has("REQUEUED");
  if (has("COMPLETING")) {
    worker.state = PlacedState::kEnding;
  } else if (has("PENDING") || has("REQUEUED") || has("CONFIGURING")) {
    worker.state = PlacedState::kPending;
  } else if (has("RUNNING") || has("SUSPENDED") || has("RESIZING") || has("SIGNALING")) {
    worker.state = PlacedState::kRunning;
  } else {
    return false;
  }
  return true;
}

// Slurm itself says whose a job is. Some versions print all jobs, whatever they are asked for.
bool IsOf(const Json& job, const std::string& user) {
  const bool number = user.find_first_not_of("0123456789") == std::string::npos;
  if (!number) return TextOf(job, "user_name") == user;
  const auto id = job.find("user_id");
  return id != job.end() && (id->is_number() || id->is_object()) &&
         std::to_string(NumberOf(job, "user_id")) == user;
}

// "mlc-fleet:FLEET:POOL:NAME"; none of them has a colon.
bool ReadComment(const std::string& comment, const std::string& fleet, PlacedWorker& worker) {
  const std::string prefix = std::string(kMark) + ":" + fleet + ":";
  if (!comment.starts_with(prefix)) return false;
  const size_t colon = comment.find(':', prefix.size());
  if (colon == std::string::npos) return false;
  worker.pool = comment.substr(prefix.size(), colon - prefix.size());
  worker.name = comment.substr(colon + 1);
  return !worker.name.empty();
}

std::string MinutesOf(int64_t seconds) {
  return std::to_string(std::max<int64_t>(1, seconds / 60));
}

class SlurmProvider : public Provider {
 public:
  SlurmProvider(const FleetConfig& config, std::string server, std::stop_token stop)
      : config_(config),
        user_(config.slurm_user.empty() ? std::to_string(geteuid()) : config.slurm_user),
        server_(std::move(server)),
        stop_(std::move(stop)) {}

  Status Ensure(const std::string& pool, const std::vector<std::string>& names) override {
    for (const std::string& name : names) {
      if (jobs_.contains(name)) continue;
      const std::string printed = MLC_TRY(Run(SbatchWords(config_, pool, server_, name)));
      // "ID", or "ID;CLUSTER".
      int64_t id = 0;
      std::from_chars(printed.data(), printed.data() + printed.size(), id);
      if (id <= 0) return Unavailable("sbatch printed no job id: " + printed.substr(0, 100));
      jobs_[name] = {id, PlacedState::kPending};
    }
    return Status();
  }

  Result<std::vector<PlacedWorker>> List() override {
    const std::string json = MLC_TRY(Run({"squeue", "--json", "--user=" + user_}));
    std::vector<PlacedWorker> placed;
    jobs_.clear();
    std::vector<SlurmJob> jobs = MLC_TRY(ReadSqueue(json, config_.name, user_));
    MLC_TRY(EvictFromDrainingNodes(jobs));
    for (SlurmJob& job : jobs) {
      jobs_[job.worker.name] = {job.id, job.worker.state};
      placed.push_back(std::move(job.worker));
    }
    return placed;
  }

  // The batch script gets the signal and passes it on. Without a place there is no script.
  Status Drain(const std::string& name) override {
    const auto found = jobs_.find(name);
    if (found == jobs_.end()) return Status();
    if (found->second.state == PlacedState::kPending) return Kill(name);
    return Cancel({"scancel", "--batch", "--signal=TERM", std::to_string(found->second.id)});
  }

  Status Kill(const std::string& name) override {
    const auto found = jobs_.find(name);
    if (found == jobs_.end()) return Status();
    return Cancel({"scancel", std::to_string(found->second.id)});
  }

 private:
  struct PlacedJob {
    int64_t id = 0;
    PlacedState state = PlacedState::kPending;
  };

  // Slurm lets jobs stay on a node that is drained, for as long as they last.
  Status EvictFromDrainingNodes(std::vector<SlurmJob>& jobs) const {
    std::string nodes;
    for (const SlurmJob& job : jobs) {
      if (!job.node.empty()) nodes += (nodes.empty() ? "" : ",") + job.node;
    }
    if (nodes.empty()) return Status();
    const std::string printed =
        MLC_TRY(Run({"sinfo", "--noheader", "--Node", "--nodes=" + nodes, "--format=%N %T %E"}));
    const std::map<std::string, std::string> draining = ReadDrainingNodes(printed);
    for (SlurmJob& job : jobs) {
      const auto found = draining.find(job.node);
      if (found != draining.end() && job.worker.evicted.empty()) job.worker.evicted = found->second;
    }
    return Status();
  }

  // A job that is over meanwhile is what was wanted.
  Status Cancel(const std::vector<std::string>& words) const {
    const Status status = Run(words).status();
    const std::string& why = status.message();
    const bool over = why.find("Invalid job id") != std::string::npos ||
                      why.find("already completing or completed") != std::string::npos;
    return over ? Status() : status;
  }

  Result<std::string> Run(std::vector<std::string> words) const {
    Command command;
    if (!config_.slurm_bin.empty()) words[0] = config_.slurm_bin + "/" + words[0];
    command.words = std::move(words);
    if (!config_.slurm_conf.empty()) command.environment = {"SLURM_CONF=" + config_.slurm_conf};
    command.timeout_ms = config_.command_timeout_ms;
    return RunChecked(command, stop_);
  }

  const FleetConfig config_;
  const std::string user_;
  const std::string server_;
  const std::stop_token stop_;
  std::map<std::string, PlacedJob> jobs_;  // by worker
};

}  // namespace

Result<std::vector<SlurmJob>> ReadSqueue(const std::string& json, const std::string& fleet,
                                         const std::string& user) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_object() || !document.contains("jobs") || !document["jobs"].is_array()) {
    return InvalidArgument("squeue --json prints no list of jobs; is its JSON plugin installed?");
  }
  // Without its controller squeue ends with 0 and prints no jobs.
  const auto errors = document.find("errors");
  if (errors != document.end() && errors->is_array() && !errors->empty()) {
    return Unavailable("squeue: " + errors->front().dump());
  }
  std::vector<SlurmJob> jobs;
  for (const Json& entry : document["jobs"]) {
    if (!entry.is_object() || !IsOf(entry, user)) continue;
    SlurmJob job;
    job.id = NumberOf(entry, "job_id");
    if (job.id <= 0 || !ReadComment(TextOf(entry, "comment"), fleet, job.worker)) continue;
    if (!ReadState(entry, job.worker)) continue;
    job.worker.where = "job " + std::to_string(job.id);
    const std::string nodes = TextOf(entry, "nodes");
    if (!nodes.empty()) job.worker.where += " on " + nodes;
    if (job.worker.state == PlacedState::kRunning) {
      job.node = TextOf(entry, "batch_host");
      // Within the grace time; the script hears of it from Slurm only at the end of that.
      if (NumberOf(entry, "preempt_time") > 0) job.worker.evicted = "Slurm preempts it";
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::map<std::string, std::string> ReadDrainingNodes(const std::string& text) {
  std::map<std::string, std::string> nodes;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string node, state, reason;
    words >> node >> state >> std::ws;
    std::getline(words, reason);
    // With marks behind it: "draining*", "draining@" before a reboot.
    if (!state.starts_with("drain") && !state.starts_with("fail")) continue;
    nodes[node] = "node " + node + " is " + state + ": " + reason;
  }
  return nodes;
}

std::vector<std::string> SbatchWords(const FleetConfig& config, const std::string& pool,
                                     const std::string& server, const std::string& name) {
  const SlurmPool& slurm = PoolOf(config, pool).slurm;
  std::vector<std::string> words = {
      "sbatch",
      "--parsable",
      "--job-name=mlc-worker",
      std::string("--comment=") + kMark + ":" + config.name + ":" + pool + ":" + name,
      "--requeue",
      "--open-mode=append",
      "--output=" + slurm.output,
      "--signal=B:TERM@" + std::to_string(slurm.warning_s)};
  if (!slurm.partition.empty()) words.push_back("--partition=" + slurm.partition);
  if (!slurm.gres.empty()) words.push_back("--gres=" + slurm.gres);
  if (slurm.time_limit_s > 0) words.push_back("--time=" + MinutesOf(slurm.time_limit_s));
  words.insert(words.end(), slurm.options.begin(), slurm.options.end());
  words.push_back(slurm.script);
  const std::vector<std::string> worker = WorkerCommand(config, pool, server, name);
  words.insert(words.end(), worker.begin(), worker.end());
  return words;
}

std::unique_ptr<Provider> MakeSlurmProvider(const FleetConfig& config, const std::string& server,
                                            std::stop_token stop) {
  return std::make_unique<SlurmProvider>(config, server, std::move(stop));
}

}  // namespace mlc::server::fleet
