// What the server's work asks of its workers, and who is there: all that a fleet has to know of
// jobs and leases. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/scheduler/capability.h"

namespace mlc::server {

// Work that asks the same of a worker.
struct NeededWork {
  Needs needs;
  int64_t jobs = 0;    // without trials: each still wants a worker in contact
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
  std::vector<SeenWorker> workers;  // in contact, or lost a short while ago
};

}  // namespace mlc::server
