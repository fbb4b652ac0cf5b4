#include "server/fleet/config.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace mlc::server::fleet {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostWorkers = 10'000;
constexpr int64_t kMostMib = int64_t{1} << 40;
constexpr int64_t kMostSeconds = 30LL * 24 * 3600;
constexpr size_t kLongestName = 32;

Status Bad(const std::string& where, const std::string& what) {
  return FailedPrecondition("fleet configuration: " + where + ": " + what);
}

// Names become parts of worker names, which are taken apart at dashes.
bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

// Reads the members of one object; unknown members are errors.
class Object {
 public:
  Object(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json_.is_object()) status_ = Bad(where_, "expected an object");
  }

  void Text(const char* key, std::string& value) {
    const Json* found = Find(key);
    if (found == nullptr) return;
    if (!found->is_string()) return Fail(key, "expected a text");
    value = found->get<std::string>();
    if (value.find('\0') != std::string::npos) Fail(key, "has a zero byte");
  }
  void Name(const char* key, std::string& value) {
    Text(key, value);
    if (ok() && !IsName(value)) Fail(key, "expected 1 to 32 of a-z, 0-9 and _");
  }
  void Texts(const char* key, std::vector<std::string>& value) {
    const Json* found = Find(key);
    if (found == nullptr) return;
    if (!found->is_array()) return Fail(key, "expected a list of texts");
    value.clear();
    for (const Json& entry : *found) {
      if (!entry.is_string()) return Fail(key, "expected a list of texts");
      value.push_back(entry.get<std::string>());
      if (value.back().find('\0') != std::string::npos) return Fail(key, "has a zero byte");
    }
  }
  template <typename Int>
  void Whole(const char* key, Int& value, int64_t least, int64_t most) {
    const Json* found = Find(key);
    if (found == nullptr) return;
    const bool fits = found->is_number_integer() && *found >= least && *found <= most;
    if (!fits) {
      return Fail(key, "expected a whole number from " + std::to_string(least) + " to " +
                           std::to_string(most));
    }
    value = static_cast<Int>(found->get<int64_t>());
  }
  void Seconds(const char* key, int64_t& value_ms) {
    const Json* found = Find(key);
    if (found == nullptr) return;
    const bool fits = found->is_number() && *found >= 0 && *found <= kMostSeconds;
    if (!fits) return Fail(key, "expected seconds from 0 to " + std::to_string(kMostSeconds));
    value_ms = static_cast<int64_t>(found->get<double>() * 1000);
  }
  const Json* Find(const char* key) {
    known_.emplace_back(key);
    if (!ok()) return nullptr;
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  void Fail(const char* key, const std::string& what) {
    if (ok()) status_ = Bad(where_ + "." + key, what);
  }
  bool ok() const { return status_.ok(); }
  Status Finish() const {
    MLC_TRY(status_);
    for (const auto& [key, value] : json_.items()) {
      if (std::ranges::find(known_, key) == known_.end()) {
        return Bad(where_ + "." + key, "there is no such setting");
      }
    }
    return Status();
  }

 private:
  const Json& json_;
  const std::string where_;
  std::vector<std::string> known_;
  Status status_;
};

Status ReadSlurm(const Json* json, const std::string& where, SlurmPool& slurm) {
  if (json == nullptr) return Bad(where, "is needed: at least {\"script\": PATH}");
  Object object(*json, where);
  object.Text("script", slurm.script);
  object.Text("partition", slurm.partition);
  object.Text("gres", slurm.gres);
  object.Whole("time_limit_s", slurm.time_limit_s, 0, kMostSeconds);
  object.Whole("warning_s", slurm.warning_s, 1, 3600);
  object.Text("output", slurm.output);
  object.Texts("options", slurm.options);
  if (slurm.script.empty()) object.Fail("script", "is needed: the batch script of a worker");
  return object.Finish();
}

Result<PoolConfig> ReadPool(Kind kind, const Json& json, const std::string& where) {
  Object object(json, where);
  PoolConfig pool;
  PoolTerms& terms = pool.terms;
  object.Name("name", terms.name);
  std::string device = "cpu";
  object.Text("device", device);
  if (device != "cpu" && device != "cuda") object.Fail("device", "expected \"cpu\" or \"cuda\"");
  terms.declared.classes = {"target v1 " + device + " *"};
  object.Texts("classes", terms.declared.classes);
  int64_t memory_mib = 0;
  object.Whole("memory_mib", memory_mib, 0, kMostMib);
  terms.declared.memory_bytes = memory_mib << 20;
  object.Whole("min", terms.min, 0, kMostWorkers);
  object.Whole("max", terms.max, 0, kMostWorkers);
  if (terms.min > terms.max) object.Fail("min", "is more than max");
  object.Whole("trials_per_worker", terms.trials_per_worker, 1, 1'000'000);
  object.Whole("starts_per_round", terms.starts_per_round, 1, 1'000);
  object.Seconds("idle_s", terms.idle_ms);
  object.Seconds("start_timeout_s", terms.start_timeout_ms);
  object.Seconds("lost_s", terms.lost_ms);
  object.Seconds("drain_s", terms.drain_ms);
  object.Seconds("stable_s", terms.stable_ms);
  object.Seconds("first_backoff_s", terms.first_backoff_ms);
  object.Seconds("longest_backoff_s", terms.longest_backoff_ms);
  object.Texts("worker", pool.worker);
  terms.declared.user_kernels =
      std::ranges::find(pool.worker, "--allow-user-kernels") != pool.worker.end();
  const Json* slurm = object.Find("slurm");
  MLC_TRY(object.Finish());
  if (terms.lost_ms < 1'000) return Bad(where + ".lost_s", "expected at least 1");
  if (kind == Kind::kSlurm) MLC_TRY(ReadSlurm(slurm, where + ".slurm", pool.slurm));
  return pool;
}

Status ReadPools(const Json* json, FleetConfig& config) {
  if (json == nullptr || !json->is_array() || json->empty() || json->size() > 100) {
    return Bad("pools", "expected a list of 1 to 100 pools");
  }
  for (size_t i = 0; i < json->size(); ++i) {
    const std::string where = "pools[" + std::to_string(i) + "]";
    PoolConfig pool = MLC_TRY(ReadPool(config.kind, (*json)[i], where));
    for (const PoolConfig& other : config.pools) {
      if (other.terms.name == pool.terms.name) return Bad(where + ".name", "is another pool's");
    }
    config.pools.push_back(std::move(pool));
  }
  return Status();
}

}  // namespace

Result<FleetConfig> ParseFleetConfig(Kind kind, const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return Bad("file", "is not JSON");
  FleetConfig config;
  config.kind = kind;
  Object object(json, "file");
  object.Name("name", config.name);
  object.Text("server", config.server);
  object.Seconds("poll_s", config.poll_ms);
  object.Text("logs", config.logs);
  object.Text("slurm_bin", config.slurm_bin);
  object.Text("slurm_conf", config.slurm_conf);
  object.Text("slurm_user", config.slurm_user);
  object.Texts("command", config.command);
  object.Seconds("command_timeout_s", config.command_timeout_ms);
  const Json* pools = object.Find("pools");
  MLC_TRY(object.Finish());
  if (config.poll_ms < 50) return Bad("poll_s", "expected at least 0.05");
  if (config.command_timeout_ms < 100) return Bad("command_timeout_s", "expected at least 0.1");
  if (kind == Kind::kExec && config.command.empty()) {
    return Bad("command", "is needed: the program that places workers, and its arguments");
  }
  MLC_TRY(ReadPools(pools, config));
  return config;
}

Result<FleetConfig> LoadFleetConfig(Kind kind, const std::string& path) {
  if (path.empty()) {
    if (kind == Kind::kLocal || kind == Kind::kStatic) {
      return ParseFleetConfig(kind, R"({"pools": [{"name": "cpu"}]})");
    }
    return Bad("file", "--fleet-config FILE is needed; docs/reference/fleet-file.md describes it");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return Bad(path, "cannot be read");
  Result<FleetConfig> config = ParseFleetConfig(kind, text.str());
  if (!config.ok()) return config.status().WithPrefix(path);
  return config;
}

}  // namespace mlc::server::fleet
