// What the server's work asks of its workers, and who is there: all that a fleet has to know of
// jobs and leases. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlc::server {

// Work that only workers of one class of targets can do.
struct ClassDemand {
  std::string target_class;
  int64_t jobs = 0;    // running; one without trials still wants a worker in contact
  int64_t queued = 0;  // trials nobody has
  int64_t leased = 0;
};

struct SeenWorker {
  std::string name;
  std::string target_class;
  int64_t held = 0;       // leases
  int64_t silent_ms = 0;  // since its last call
  bool draining = false;  // it takes no more work
};

struct Demand {
  std::vector<ClassDemand> classes;
  std::vector<SeenWorker> workers;  // in contact, or lost a short while ago
};

}  // namespace mlc::server
