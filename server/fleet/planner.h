// Decides which workers to start, drain and kill: a pure state machine. No clock, no I/O, no
// threads; time comes in as milliseconds of a steady clock. Not thread-safe.
//
// A worker counts while it is asked for, placed, or in contact with the server. One that was in
// contact and falls silent counts no more, whatever the provider says of it: its successor is
// started at once. If it comes back, there is one too many, and the fewest trials are drained away.
// One whose place will be taken away is drained and replaced at once; what its batch system starts
// again after that is one too many, too.
// Workers of a pool that is not here any more are drained.
// A pool keeps what it needed at most during the last `idle_ms`; what it finds at its first list of
// workers counts as needed then. Starts that fail make the pool
// wait, longer each time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/fleet/abilities.h"
#include "server/fleet/provider.h"
#include "server/scheduler/demand.h"

namespace mlc::server::fleet {

struct PoolTerms {
  std::string name;
  DeclaredAbilities declared;  // of its workers
  int min = 0;
  int max = 1;
  int trials_per_worker = 16;          // trials queued or leased that justify one worker
  int starts_per_round = 16;           // a queue that appears at once does not flood the provider
  int64_t idle_ms = 300'000;           // a surplus lasts this long before it is drained
  int64_t start_timeout_ms = 180'000;  // from running to the first call
  int64_t lost_ms = 20'000;            // silence after which a worker is replaced
  int64_t drain_ms = 120'000;          // from drained to killed
  int64_t stable_ms = 30'000;          // one that leaves sooner has failed
  int64_t unlisted_ms = 15'000;        // how long the provider may take to list what it accepted
  int64_t retry_ms = 10'000;           // between two kills of the same worker
  int64_t first_backoff_ms = 5'000;
  int64_t longest_backoff_ms = 300'000;
};

struct Action {
  enum class Kind : uint8_t { kStart, kDrain, kKill };
  Kind kind = Kind::kStart;
  std::string pool;
  std::string worker;
  std::string why;
};

struct PoolView {
  int need = 0;      // by the present demand
  int want = 0;      // after hysteresis and bounds
  int counted = 0;   // asked for, placed or in contact
  int attached = 0;  // in contact
  int failures = 0;  // starts in a row
};

class Planner {
 public:
  // Workers are called FLEET-POOL-INCARNATION-N; `incarnation` differs from server to server.
  Planner(std::string fleet, std::string incarnation, std::vector<PoolTerms> pools);

  // One round. Without `placed` (the provider did not answer) nothing is started, drained or
  // forgotten.
  std::vector<Action> Plan(const Demand& demand,
                           const std::optional<std::vector<PlacedWorker>>& placed, int64_t now_ms);
  // The provider refused to start workers of the pool.
  void StartFailed(const std::string& worker, int64_t now_ms);

  // What no pool has workers for, as of the last round: nothing is started for it.
  const std::vector<Needs>& Unserved() const { return unserved_; }
  const PoolView& View(const std::string& pool) const { return pools_.at(pool).view; }

 private:
  enum class Phase : uint8_t { kStarting, kRequeued, kAttached, kLost, kDraining };
  struct Worker {
    std::string pool;
    Phase phase = Phase::kStarting;
    bool listed = false;
    bool pending = false;
    bool requeued = false;
    std::string evicted;      // as its provider says
    std::string where;        // the same
    int64_t since_ms = 0;     // of the phase
    int64_t listed_ms = 0;    // last in the list, or asked for
    int64_t attached_ms = 0;  // first call of this life
    int64_t seen_ms = 0;      // last call
    int64_t killed_ms = -1;   // last asked to; -1: never
    int64_t held = 0;
  };
  struct Pool {
    PoolTerms terms;
    Abilities abilities;
    std::deque<std::pair<int64_t, int>> needs;
    bool taken_over = false;  // what was there before the first round counts as needed then
    int64_t not_before_ms = 0;
    PoolView view;
  };

  void Merge(const std::vector<PlacedWorker>& placed, int64_t now_ms);
  void DrainUnknown(const std::vector<PlacedWorker>& placed, std::vector<Action>& actions);
  void MergeSeen(const std::vector<SeenWorker>& seen, int64_t now_ms);
  void UpdateSeen(Worker& worker, const SeenWorker& seen, int64_t now_ms);
  std::string OwnerOf(const SeenWorker& seen);
  void UpdatePhases(bool listed, int64_t now_ms, std::vector<Action>& actions);
  bool UpdateStarting(Worker& worker, int64_t now_ms, bool listed);
  bool UpdateAttached(Worker& worker, int64_t now_ms, bool listed);
  static void UpdateEvicted(const std::string& name, Worker& worker, int64_t now_ms,
                            std::vector<Action>& actions);
  void UpdateLeaving(const std::string& name, Worker& worker, int64_t now_ms,
                     std::vector<Action>& actions);
  void CountNeeds(const Demand& demand, int64_t now_ms);
  static void Need(Pool& pool, int workers, int64_t now_ms);
  void Divide(int64_t jobs, int64_t trials, const std::vector<size_t>& able);
  std::string Prefix(const Pool& pool) const;
  void Size(Pool& pool, bool listed, int64_t now_ms, std::vector<Action>& actions);
  void Grow(Pool& pool, int64_t now_ms, std::vector<Action>& actions);
  void Shrink(Pool& pool, int64_t now_ms, std::vector<Action>& actions);
  void Fail(Pool& pool, int64_t now_ms);
  static void Enter(Worker& worker, Phase phase, int64_t now_ms);

  std::string fleet_;
  std::string incarnation_;
  std::map<std::string, Pool> pools_;
  std::vector<std::string> order_;
  std::map<std::string, Worker> workers_;
  std::set<std::string> drained_unknown_;  // of pools that are not here, and told to leave
  std::vector<Needs> unserved_;
  int64_t next_ = 0;
};

}  // namespace mlc::server::fleet
