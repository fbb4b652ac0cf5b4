// Workers as batch jobs of Slurm, one job a worker: sbatch, squeue --json, sinfo, scancel. Jobs
// carry the fleet, the pool and the worker's name in their comment, so a restarted server finds
// them again. What Slurm says may be old: after a crash its controller restores an earlier state.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "server/fleet/config.h"
#include "server/fleet/provider.h"

namespace mlc::server::fleet {

struct SlurmJob {
  int64_t id = 0;
  PlacedWorker worker;
  std::string node;  // where its script runs; empty without a place
};

// The jobs of a fleet that are not over, from what `squeue --json` prints (22.05 and later). Those
// of other users, who may write any comment, and fields of other types than expected, are passed
// over; `user` is a name or a number. UNAVAILABLE if it tells of errors, INVALID_ARGUMENT if it is
// no such document at all.
Result<std::vector<SlurmJob>> ReadSqueue(const std::string& json, const std::string& fleet,
                                         const std::string& user);

// Nodes that are to become empty, with the reason, from what
// `sinfo --noheader --Node --format="%N %T %E"` prints.
std::map<std::string, std::string> ReadDrainingNodes(const std::string& text);

// The words of sbatch for one worker.
std::vector<std::string> SbatchWords(const FleetConfig& config, const std::string& pool,
                                     const std::string& server, const std::string& name);

std::unique_ptr<Provider> MakeSlurmProvider(const FleetConfig& config, const std::string& server,
                                            std::stop_token stop);

}  // namespace mlc::server::fleet
