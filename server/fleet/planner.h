// Decides which workers to start, drain and kill: a pure state machine. It has no clock, I/O or
// threads; the caller passes the time in milliseconds of a steady clock. Not thread-safe.
//
// A worker counts while it is requested, placed or in contact with the server. If a worker that was
// in contact falls silent, it no longer counts, whatever the provider reports, and the planner
// starts a replacement. If the silent worker comes back, the planner drains the surplus worker with
// the fewest trials. If the provider announces that a worker will lose its place, the planner
// drains and replaces it immediately; if the batch system then restarts it, it is surplus too.
// Workers of a pool that the fleet file no longer has are drained. A pool keeps the largest number
// of workers that it needed during the last `idle_ms`; workers in the provider's first list count
// as needed at that time. Failed starts make the pool back off exponentially.
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
  DeclaredAbilities declared;  // abilities of its workers
  int min = 0;
  int max = 1;
  int trials_per_worker = 16;          // trials queued or leased that justify one worker
  int starts_per_round = 16;           // limits the load on the provider
  int64_t idle_ms = 300'000;           // a surplus worker is drained after this
  int64_t start_timeout_ms = 180'000;  // from running to the first call
  int64_t lost_ms = 20'000;            // silence after which a worker is replaced
  int64_t drain_ms = 120'000;          // from drained to killed
  int64_t stable_ms = 30'000;          // a start whose worker leaves sooner has failed
  int64_t unlisted_ms = 15'000;        // until the provider lists a worker that it accepted
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
  int need = 0;      // by the current demand
  int want = 0;      // after hysteresis and bounds
  int counted = 0;   // requested, placed or in contact
  int attached = 0;  // in contact
  int failures = 0;  // failed starts in a row
};

class Planner {
 public:
  // Workers are called FLEET-POOL-INCARNATION-N; `incarnation` differs from server to server.
  Planner(std::string fleet, std::string incarnation, std::vector<PoolTerms> pools);

  // Plans one round. If `placed` is empty because the provider did not answer, the planner starts,
  // drains and forgets no worker.
  std::vector<Action> Plan(const Demand& demand,
                           const std::optional<std::vector<PlacedWorker>>& placed, int64_t now_ms);
  // The provider refused to start this worker.
  void StartFailed(const std::string& worker, int64_t now_ms);

  // Needs that no pool can meet, as of the last round. The planner starts no workers for them.
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
  std::set<std::string>
      drained_unknown_;  // drained workers of pools that the fleet file no longer has
  std::vector<Needs> unserved_;
  int64_t next_ = 0;
};

}  // namespace mlc::server::fleet
