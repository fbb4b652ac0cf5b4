// The state that leases keep of queues, trials and workers. Private to the parts of Leases. Plain
// values.
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
  // Waiting trials by place. `special` has the suspects and the trials that avoid a worker, which
  // not every worker may take.
  std::map<int64_t, Digest> fresh;
  std::map<int64_t, Digest> special;
  int64_t leased = 0;
  int64_t trials = 0;  // in any state
};

struct Worker {
  std::string name;
  std::string incarnation;
  std::deque<std::string> old_incarnations;
  uint64_t sequence = 0;
  Offer offer;
  int64_t last_contact_ms = 0;
  int64_t deadline_ms = 0;
  bool alive = false;     // in contact, so its leases are valid
  bool eligible = false;  // gets trials of any job
  std::set<Digest> leases;
  int suspects = 0;         // leases of suspect trials
  std::set<Digest> for_it;  // trials queued for this worker only
  // For device_time.h: the device time since the last payment, up to the last contact, and the
  // results since then. Each result has the charge of its trial (0: charged to no user) and the
  // cost that the worker reports.
  struct Received {
    Digest job_id;
    double charged = 0;
    int64_t leased_ms = 0;
    std::optional<double> reported_s;
  };
  int64_t paid_ms = 0;  // time of the last payment, or when it last held no trial
  double passed_s = 0;
  int held = 0;  // trials held since the last contact
  std::vector<Received> received;

  // True for a call of an earlier incarnation, or one that arrives after a later call.
  bool IsPast(const std::string& its_incarnation, uint64_t its_sequence) const {
    if (its_incarnation == incarnation) return its_sequence != 0 && its_sequence <= sequence;
    return std::find(old_incarnations.begin(), old_incarnations.end(), its_incarnation) !=
           old_incarnations.end();
  }
  // True if the worker was restarted. Keeps some old incarnations, because calls of theirs may
  // still arrive.
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
  int attempts = 0;  // leases that ended without a result
  int strays = 0;    // replies that never reached the worker
  int64_t place = 0;
  bool seen = false;  // its worker has confirmed that it holds it
  Worker* worker = nullptr;
  int64_t leased_ms = 0;       // when it was given to the worker
  double charged = 0;          // see FairShares
  std::set<std::string> lost;  // workers that were lost while they held it
  std::string only;
  std::string avoid;
  int64_t avoid_until_ms = 0;
  bool suspect() const { return !lost.empty(); }
};

}  // namespace mlc::server::lease_state
