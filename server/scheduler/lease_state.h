// What leases remember of queues, trials and workers: private to the parts of Leases.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/digest.h"
#include "server/scheduler/capability.h"

namespace mlc::server::lease_state {

enum class State : uint8_t { kQueued, kLeased, kReceived };

// The trials of a job with the same needs.
struct Queue {
  Digest job_id;
  Needs needs;
  // By place. Suspects, and trials that avoid a worker, wait apart from those that any worker may
  // take.
  std::map<int64_t, Digest> fresh;
  std::map<int64_t, Digest> special;
  int64_t leased = 0;
  int64_t trials = 0;  // in whatever state
};

struct Worker {
  std::string name;
  std::string incarnation;
  std::deque<std::string> old_incarnations;
  uint64_t sequence = 0;
  Offer offer;
  int64_t last_contact_ms = 0;
  int64_t deadline_ms = 0;
  bool alive = false;     // in contact, its leases stand
  bool eligible = false;  // gets trials of any job
  std::set<Digest> leases;
  int suspects = 0;         // of its leases
  std::set<Digest> for_it;  // queued for it alone
  // What its devices' time goes to: how much has passed since the last payment, up to the last
  // contact, and whose results came since then, with what each trial was taken for (0: charged to
  // no user) and what the worker says that it cost.
  struct Received {
    Digest job_id;
    double charged = 0;
    int64_t leased_ms = 0;
    std::optional<double> reported_s;
  };
  int64_t paid_ms = 0;  // or when it last held nothing
  double passed_s = 0;
  int held = 0;  // since the last contact
  std::vector<Received> received;

  // A call of an earlier incarnation, or one that a later call has overtaken.
  bool IsPast(const std::string& its_incarnation, uint64_t its_sequence) const {
    if (its_incarnation == incarnation) return its_sequence != 0 && its_sequence <= sequence;
    return std::find(old_incarnations.begin(), old_incarnations.end(), its_incarnation) !=
           old_incarnations.end();
  }
  // True if that is another start of the worker. Some are remembered: calls of old ones may still
  // be under way.
  bool SetIncarnation(const std::string& its_incarnation) {
    constexpr size_t kOldIncarnations = 4;
    const bool restarted = !incarnation.empty() && incarnation != its_incarnation;
    if (restarted) {
      old_incarnations.push_back(incarnation);
      if (old_incarnations.size() > kOldIncarnations) old_incarnations.pop_front();
    }
    incarnation = its_incarnation;
    return restarted;
  }
};

struct Trial {
  Queue* queue = nullptr;
  State state = State::kQueued;
  int attempts = 0;  // that ended without a result
  int strays = 0;    // replies lost on their way
  int64_t place = 0;
  bool seen = false;  // its worker said that it holds it
  Worker* worker = nullptr;
  int64_t leased_ms = 0;       // when it was given to the worker
  double charged = 0;          // see FairShares
  std::set<std::string> lost;  // workers lost with it
  std::string only;
  std::string avoid;
  int64_t avoid_until_ms = 0;
  bool suspect() const { return !lost.empty(); }
};

}  // namespace mlc::server::lease_state
