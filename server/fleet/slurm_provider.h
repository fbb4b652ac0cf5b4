// A provider that runs each worker as a batch job of Slurm, with sbatch, squeue --json, sinfo and
// scancel. The comment of a job holds the fleet, the pool and the worker's name, so that a
// restarted server finds its workers. Slurm's answers may be outdated: after a crash, its
// controller restores an earlier state.
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

// Reads the unfinished jobs of a fleet from the output of `squeue --json` (22.05 and later). It
// skips jobs of other users, who may write any comment, and fields with unexpected types. `user` is
// a name or a number. UNAVAILABLE if the document reports errors, INVALID_ARGUMENT if it is not
// such a document.
Result<std::vector<SlurmJob>> ReadSqueue(const std::string& json, const std::string& fleet,
                                         const std::string& user);

// Reads the draining nodes and their reasons from the output of `sinfo --noheader --Node
// --format="%N %T %E"`.
std::map<std::string, std::string> ReadDrainingNodes(const std::string& text);

// The sbatch command line for one worker.
std::vector<std::string> SbatchWords(const FleetConfig& config, const std::string& pool,
                                     const std::string& server, const std::string& name);

std::unique_ptr<Provider> MakeSlurmProvider(const FleetConfig& config, const std::string& server,
                                            std::stop_token stop);

}  // namespace mlc::server::fleet
