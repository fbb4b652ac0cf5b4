#include "server/fleet/planner.h"

#include <algorithm>

namespace mlc::server::fleet {
namespace {

constexpr int kMaxDoublings = 20;

// A worker with several devices presents itself once for each, as NAME-cpu, NAME-gpu, NAME-gpu2;
// names of ours end with a number.
std::string WithoutSlotSuffix(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos) return name;
  const bool number = name.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  return number ? name : name.substr(0, dash);
}

}  // namespace

Planner::Planner(std::string fleet, std::string incarnation, std::vector<PoolTerms> pools)
    : fleet_(std::move(fleet)), incarnation_(std::move(incarnation)) {
  for (PoolTerms& terms : pools) {
    order_.push_back(terms.name);
    Pool& pool = pools_[terms.name];
    pool.abilities = Abilities(terms.declared);
    pool.terms = std::move(terms);
  }
}

std::vector<Action> Planner::Plan(const Demand& demand,
                                  const std::optional<std::vector<PlacedWorker>>& placed,
                                  int64_t now_ms) {
  std::vector<Action> actions;
  if (placed) {
    Merge(*placed, now_ms);
    DrainUnknown(*placed, actions);
  }
  MergeSeen(demand.workers, now_ms);
  UpdatePhases(placed.has_value(), now_ms, actions);
  CountNeeds(demand, now_ms);
  for (const std::string& name : order_) Size(pools_.at(name), placed.has_value(), now_ms, actions);
  return actions;
}

void Planner::StartFailed(const std::string& worker, int64_t now_ms) {
  const auto found = workers_.find(worker);
  if (found == workers_.end() || found->second.phase != Phase::kStarting) return;
  Pool& pool = pools_.at(found->second.pool);
  workers_.erase(found);
  // One refusal for all workers that were asked for at once.
  if (now_ms >= pool.not_before_ms) Fail(pool, now_ms);
}

std::string Planner::Prefix(const Pool& pool) const { return fleet_ + "-" + pool.terms.name + "-"; }

void Planner::Enter(Worker& worker, Phase phase, int64_t now_ms) {
  worker.phase = phase;
  worker.since_ms = now_ms;
}

void Planner::Fail(Pool& pool, int64_t now_ms) {
  const int64_t doubled = pool.terms.first_backoff_ms
                          << std::min(pool.view.failures, kMaxDoublings);
  ++pool.view.failures;
  pool.not_before_ms = now_ms + std::min(doubled, pool.terms.longest_backoff_ms);
}

void Planner::Merge(const std::vector<PlacedWorker>& placed, int64_t now_ms) {
  for (auto& [name, worker] : workers_) worker.listed = false;
  for (const PlacedWorker& entry : placed) {
    if (!pools_.contains(entry.pool)) continue;
    const auto [place, fresh] = workers_.try_emplace(entry.name);
    Worker& worker = place->second;
    if (fresh) {
      worker.pool = entry.pool;
      worker.since_ms = now_ms;
    }
    const bool was_pending = worker.pending;
    worker.listed = true;
    worker.listed_ms = now_ms;
    worker.pending = entry.state == PlacedState::kPending;
    worker.requeued = entry.requeued;
    worker.evicted = entry.evicted;
    worker.where = entry.where;
    if (entry.state == PlacedState::kEnding && worker.phase != Phase::kDraining) {
      Enter(worker, Phase::kDraining, now_ms);
    } else if (worker.pending && entry.requeued && worker.phase == Phase::kStarting) {
      Enter(worker, Phase::kRequeued, now_ms);
    } else if (worker.phase == Phase::kRequeued && !worker.pending) {
      Enter(worker, Phase::kStarting, now_ms);
    } else if (worker.phase == Phase::kStarting && (worker.pending || was_pending)) {
      worker.since_ms = now_ms;  // waiting for a place is no failure
    }
  }
}

// An earlier server of the fleet had such a pool. Each is told once, and again when it waits for a
// place: that is another life.
void Planner::DrainUnknown(const std::vector<PlacedWorker>& placed, std::vector<Action>& actions) {
  std::set<std::string> told;
  for (const PlacedWorker& entry : placed) {
    if (pools_.contains(entry.pool) || entry.state == PlacedState::kEnding) continue;
    if (entry.state == PlacedState::kRunning) told.insert(entry.name);
    if (entry.state == PlacedState::kRunning && drained_unknown_.contains(entry.name)) continue;
    actions.push_back({Action::Kind::kDrain, entry.pool, entry.name,
                       "the fleet has no pool " + entry.pool + " any more"});
  }
  drained_unknown_ = std::move(told);
}

// Workers of an earlier server are taken over, even if the provider has no answer yet. The server
// remembers workers for long after they left: those are not taken for new ones.
std::string Planner::OwnerOf(const SeenWorker& seen) {
  const std::string name = WithoutSlotSuffix(seen.name);
  if (workers_.contains(name)) return name;
  for (const std::string& pool : order_) {
    if (!name.starts_with(Prefix(pools_.at(pool)))) continue;
    if (seen.silent_ms > pools_.at(pool).terms.lost_ms / 4) return "";
    workers_[name].pool = pool;
    return name;
  }
  return "";
}

void Planner::MergeSeen(const std::vector<SeenWorker>& seen, int64_t now_ms) {
  for (auto& [name, worker] : workers_) worker.held = 0;
  for (const SeenWorker& entry : seen) {
    const std::string owner = OwnerOf(entry);
    if (owner.empty()) continue;  // started by hand, or gone
    Pool& pool = pools_.at(workers_.at(owner).pool);
    if (entry.silent_ms > pool.terms.lost_ms) continue;
    const std::string ours = Prefix(pool) + incarnation_ + "-";
    pool.abilities.Learn(entry.offer, owner.starts_with(ours));
    UpdateSeen(workers_.at(owner), entry, now_ms);
  }
}

void Planner::UpdateSeen(Worker& worker, const SeenWorker& seen, int64_t now_ms) {
  worker.held += seen.held;
  const int64_t seen_ms = now_ms - seen.silent_ms;
  // Words of an earlier life: from before it was given up, or requeued.
  if (worker.phase == Phase::kLost && seen_ms <= worker.since_ms) return;
  if (worker.phase == Phase::kRequeued && seen_ms <= worker.since_ms) return;
  worker.seen_ms = std::max(worker.seen_ms, seen_ms);
  if (worker.phase == Phase::kDraining) return;
  if (worker.phase != Phase::kAttached) {
    worker.attached_ms = now_ms;
    Enter(worker, Phase::kAttached, now_ms);
  }
  if (seen.draining) Enter(worker, Phase::kDraining, now_ms);
}

// True if the worker is to be forgotten, as a failed start.
bool Planner::UpdateStarting(Worker& worker, int64_t now_ms, bool listed) {
  const PoolTerms& terms = pools_.at(worker.pool).terms;
  if (!listed) return false;
  if (!worker.listed) return now_ms - worker.listed_ms > terms.unlisted_ms;
  if (!worker.pending && now_ms - worker.since_ms > terms.start_timeout_ms) {
    Fail(pools_.at(worker.pool), now_ms);
    Enter(worker, Phase::kLost, now_ms);
  }
  return false;
}

// True if the worker left by itself, too soon. Its calls outweigh a list without it.
bool Planner::UpdateAttached(Worker& worker, int64_t now_ms, bool listed) {
  Pool& pool = pools_.at(worker.pool);
  const bool silent = now_ms - worker.seen_ms > pool.terms.lost_ms;
  // The provider is sure and the worker has missed a call: no need to wait for the rest.
  const bool gone = listed && (!worker.listed || worker.pending) &&
                    now_ms - worker.seen_ms > pool.terms.lost_ms * 3 / 4;
  if (!silent && !gone) {
    if (now_ms - worker.attached_ms >= pool.terms.stable_ms) pool.view.failures = 0;
    return false;
  }
  const bool young = worker.seen_ms - worker.attached_ms < pool.terms.stable_ms;
  Enter(worker, Phase::kLost, now_ms);
  return young;
}

// It finishes what it holds while it still may.
void Planner::UpdateEvicted(const std::string& name, Worker& worker, int64_t now_ms,
                            std::vector<Action>& actions) {
  const bool works = worker.phase == Phase::kStarting || worker.phase == Phase::kAttached;
  if (!works || !worker.listed || worker.evicted.empty()) return;
  actions.push_back({Action::Kind::kDrain, worker.pool, name, worker.evicted});
  Enter(worker, Phase::kDraining, now_ms);
}

void Planner::UpdateLeaving(const std::string& name, Worker& worker, int64_t now_ms,
                            std::vector<Action>& actions) {
  const PoolTerms& terms = pools_.at(worker.pool).terms;
  const bool lost = worker.phase == Phase::kLost;
  // Its successor has been asked for; waiting for a place, it holds nothing.
  const bool again = worker.listed && worker.pending && worker.requeued;
  if (!lost && !again && now_ms - worker.since_ms <= terms.drain_ms) return;
  if (worker.killed_ms >= 0 && now_ms - worker.killed_ms < terms.retry_ms) return;
  worker.killed_ms = now_ms;
  const std::string place = worker.where.empty() ? "" : " (" + worker.where + ")";
  actions.push_back({Action::Kind::kKill, worker.pool, name,
                     lost    ? "no contact with it" + place
                     : again ? "requeued after it was drained"
                             : "it does not leave after draining"});
}

void Planner::UpdatePhases(bool listed, int64_t now_ms, std::vector<Action>& actions) {
  for (auto place = workers_.begin(); place != workers_.end();) {
    Worker& worker = place->second;
    Pool& pool = pools_.at(worker.pool);
    bool forget = false;
    if (worker.phase == Phase::kStarting && UpdateStarting(worker, now_ms, listed)) {
      Fail(pool, now_ms);
      forget = true;
    } else if (worker.phase == Phase::kAttached && UpdateAttached(worker, now_ms, listed)) {
      Fail(pool, now_ms);
    }
    if (listed && !forget) UpdateEvicted(place->first, worker, now_ms, actions);
    if (worker.phase == Phase::kRequeued || worker.phase == Phase::kLost ||
        worker.phase == Phase::kDraining) {
      const bool silent = now_ms - worker.seen_ms > pool.terms.lost_ms / 4;
      forget = forget || (listed && !worker.listed && silent);
    }
    const bool leaving = worker.phase == Phase::kLost || worker.phase == Phase::kDraining;
    if (leaving && !forget) UpdateLeaving(place->first, worker, now_ms, actions);
    place = forget ? workers_.erase(place) : std::next(place);
  }
}

}  // namespace mlc::server::fleet
