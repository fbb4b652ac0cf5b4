// The demand for workers: what the queued work needs, and which workers are known. It is all that a
// fleet knows of jobs and leases. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/scheduler/capability.h"

namespace mlc::server {

// Work with the same needs.
struct NeededWork {
  Needs needs;
  int64_t jobs = 0;    // without trials yet; each needs a worker in contact
  int64_t queued = 0;  // trials that no worker holds
  int64_t leased = 0;
};

struct SeenWorker {
  std::string name;
  Offer offer;
  int64_t held = 0;       // leases
  int64_t silent_ms = 0;  // since its last call
  bool draining = false;  // it takes no more work
};

struct Demand {
  std::vector<NeededWork> work;
  std::vector<SeenWorker> workers;  // in contact or recently lost
};

}  // namespace mlc::server
