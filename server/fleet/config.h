// The fleet's configuration file: JSON, described in docs/reference/fleet-file.md. Pure but for
// reading the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "server/fleet/planner.h"

namespace mlc::server::fleet {

enum class Kind : uint8_t { kLocal, kStatic, kSlurm, kExec };

struct SlurmPool {
  std::string script;  // batch script; its arguments are the worker's command line
  std::string partition;
  std::string gres;
  int64_t time_limit_s = 0;  // 0: the partition's
  int64_t warning_s = 60;    // TERM this long before the end
  std::string output = "/dev/null";
  std::vector<std::string> options;  // of sbatch, as they are
};

struct PoolConfig {
  PoolTerms terms;
  std::vector<std::string> worker;  // program and arguments; --server and --name are added
  SlurmPool slurm;
};

struct FleetConfig {
  Kind kind = Kind::kStatic;
  std::string name = "fleet";
  std::string server;  // address for workers; empty: where this server listens
  int64_t poll_ms = 1'000;
  std::string logs;                  // local: folder of the workers' messages; empty: the server's
  std::string slurm_bin;             // folder of sbatch, squeue and scancel; empty: found in PATH
  std::string slurm_conf;            // their SLURM_CONF; empty: inherited
  std::string slurm_user;            // user of the batch jobs; empty: the user of this process
  std::vector<std::string> command;  // exec
  int64_t command_timeout_ms = 30'000;
  std::vector<PoolConfig> pools;
};

// FAILED_PRECONDITION, with the place in the file, for fields that are unknown, missing or out of
// range.
Result<FleetConfig> ParseFleetConfig(Kind kind, const std::string& text);
// Reads and parses the file. An empty path gives a fleet with one default pool; only `local` and
// `static` allow that.
Result<FleetConfig> LoadFleetConfig(Kind kind, const std::string& path);

}  // namespace mlc::server::fleet
