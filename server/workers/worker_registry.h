// What the server stores about its workers besides their leases: their data, and the trials that
// check workers and results. Plain data, which TunerTables guards.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "db/record.h"
#include "server/scheduler/capability.h"
#include "server/workers/worker_call.h"
#include "server/workers/worker_health.h"
#include "server/workers/worker_roster.h"

namespace mlc::server {

// What the worker sent with its last call, and counters of its results.
struct WorkerInfo {
  std::string incarnation;
  std::string target;  // full text
  std::string build;
  Capabilities capabilities;
  DeviceUse use;
  Offer offer;
  int64_t called_ms = 0;
  bool draining = false;  // as it reported: it takes no more trials
  double clock_mhz = 0;   // of its device in its last result; 0: not reported
  int64_t results = 0;
  int64_t failures = 0;
  int64_t refused = 0;
};

// A trial that no job asked for and that the log never stores under its own uid: a canary, which
// tests one worker, or the second measurement of an implausible result.
struct Check {
  std::string workload;
  std::string config;
  uint64_t seed = 0;
  std::string worker;  // the worker under test, or the source of the doubtful result
  // For a canary.
  double expected_ns = 0;  // 0: only the values are checked
  double factor = 1;
  // For a second measurement: the doubtful record waits, neither committed nor acknowledged.
  bool confirms = false;
  db::Record claim;
  std::string doubt;
};

// The earlier measurement that a confirmation repeats.
struct Claim {
  std::string worker;  // empty: unknown
  double ns = 0;
  std::string avoid;  // the worker of the leader, which confirms it only if no other worker can
};

// The stream that a worker holds open.
struct WorkerSession {
  int64_t id = 0;
  std::string incarnation;
  std::function<void()> wake;
  std::function<void()> disconnect;
};

struct WorkerRegistry {
  WorkerRegistry(HealthTerms terms, RosterTerms names, int64_t away_ms)
      : roster(names, away_ms), health(terms) {}

  // Null for an unknown worker.
  WorkerInfo* Find(const std::string& worker) {
    const auto found = workers.find(worker);
    return found == workers.end() ? nullptr : &found->second;
  }

  WorkerRoster roster;  // the workers that the registry and the leases remember
  WorkerHealth health;
  std::map<std::string, WorkerInfo> workers;  // by name
  std::map<Digest, Check> checks;             // by their own uid
  std::map<std::string, WorkerSession> sessions;
  std::map<std::string, std::set<std::string>>
      idle;                     // by target class: workers that asked for more work
  bool classes_change = false;  // some class may have no worker any more
  std::set<Needs> unserved;     // needs for which the fleet starts no workers
  uint64_t last_number = 0;     // last number of a canary or session
};

}  // namespace mlc::server
