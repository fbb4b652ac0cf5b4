// How many workers the pools are to have, and which ones come and go for that.
#include <algorithm>

#include "server/fleet/planner.h"

namespace mlc::server::fleet {
namespace {

// Workers that the provider may still list while their successors work, per pool and worker.
constexpr int kPlacedPerWorker = 2;

}  // namespace

// Work that the same pools can do on the same class of targets shares their workers.
void Planner::CountNeeds(const Demand& demand, int64_t now_ms) {
  for (auto& [name, pool] : pools_) pool.view.need = 0;
  unserved_.clear();
  struct Work {
    int64_t jobs = 0, trials = 0;
  };
  std::map<std::pair<std::string, std::vector<size_t>>, Work> shared;
  for (const NeededWork& needed : demand.work) {
    std::vector<size_t> able;  // places in order_
    for (size_t i = 0; i < order_.size(); ++i) {
      const Pool& pool = pools_.at(order_[i]);
      if (pool.terms.max > 0 && pool.abilities.Meet(needed.needs)) able.push_back(i);
    }
    if (able.empty()) unserved_.push_back(needed.needs);
    Work& work = shared[{needed.needs.target_class, able}];
    work.jobs += needed.jobs;
    work.trials += needed.queued + needed.leased;
  }
  for (const auto& [key, work] : shared) Divide(work.jobs, work.trials, key.second);
  for (auto& [name, pool] : pools_) Need(pool, pool.view.need, now_ms);
}

void Planner::Divide(int64_t jobs, int64_t trials, const std::vector<size_t>& able) {
  bool wanted = jobs > 0 || trials > 0;
  for (const size_t place : able) {
    if (!wanted) return;
    Pool& pool = pools_.at(order_[place]);
    const int64_t each = pool.terms.trials_per_worker;
    const int64_t room = std::max(0, pool.terms.max - pool.view.need);
    const int64_t workers = std::min(room, std::max<int64_t>(1, (trials + each - 1) / each));
    pool.view.need += static_cast<int>(workers);
    trials = std::max<int64_t>(0, trials - workers * each);
    // What is left goes to the next pool; the job itself has its worker.
    wanted = workers == 0 || trials > 0;
  }
}

void Planner::Need(Pool& pool, int workers, int64_t now_ms) {
  while (!pool.needs.empty() && pool.needs.back().second <= workers) pool.needs.pop_back();
  pool.needs.emplace_back(now_ms, workers);
  // What was needed until the window began does not count.
  while (pool.needs.front().first < now_ms - pool.terms.idle_ms) pool.needs.pop_front();
  pool.view.want = std::clamp(pool.needs.front().second, pool.terms.min, pool.terms.max);
}

void Planner::Size(Pool& pool, bool listed, int64_t now_ms, std::vector<Action>& actions) {
  pool.view.counted = pool.view.attached = 0;
  for (const auto& [name, worker] : workers_) {
    if (worker.pool != pool.terms.name) continue;
    pool.view.attached += worker.phase == Phase::kAttached ? 1 : 0;
    pool.view.counted +=
        worker.phase == Phase::kAttached || worker.phase == Phase::kStarting ? 1 : 0;
  }
  if (!listed) return;
  // What an earlier server left was needed then: jobs that go on have yet to fill their queues.
  if (!pool.taken_over) Need(pool, pool.view.counted, now_ms);
  pool.taken_over = true;
  if (pool.view.counted < pool.view.want) Grow(pool, now_ms, actions);
  if (pool.view.counted >= pool.view.want) Shrink(pool, now_ms, actions);
}

void Planner::Grow(Pool& pool, int64_t now_ms, std::vector<Action>& actions) {
  if (now_ms < pool.not_before_ms) return;
  const auto placed = std::ranges::count_if(
      workers_, [&](const auto& entry) { return entry.second.pool == pool.terms.name; });
  const int64_t room = int64_t{kPlacedPerWorker} * pool.terms.max - placed;
  const int64_t missing = pool.view.want - pool.view.counted;
  // After failures one start at a time proves that the trouble is over.
  const int64_t most = pool.view.failures > 0 ? 1 : pool.terms.starts_per_round;
  for (int64_t i = 0; i < std::min({missing, room, most}); ++i) {
    const std::string name = Prefix(pool) + incarnation_ + "-" + std::to_string(++next_);
    Worker& worker = workers_[name];
    worker.pool = pool.terms.name;
    worker.pending = true;
    worker.since_ms = worker.listed_ms = now_ms;
    ++pool.view.counted;
    actions.push_back(
        {Action::Kind::kStart, pool.terms.name, name, std::to_string(pool.view.want) + " wanted"});
  }
}

void Planner::Shrink(Pool& pool, int64_t now_ms, std::vector<Action>& actions) {
  struct Victim {
    int rank;
    int64_t held;
    int64_t newest;
    std::string name;
    auto operator<=>(const Victim&) const = default;
  };
  std::vector<Victim> victims;
  for (const auto& [name, worker] : workers_) {
    if (worker.pool != pool.terms.name) continue;
    if (worker.phase == Phase::kRequeued) victims.push_back({0, 0, 0, name});
    if (worker.phase == Phase::kStarting)
      victims.push_back({worker.pending ? 1 : 2, 0, -worker.since_ms, name});
    if (worker.phase == Phase::kAttached)
      victims.push_back({3, worker.held, -worker.attached_ms, name});
  }
  std::ranges::sort(victims);
  for (const Victim& victim : victims) {
    Worker& worker = workers_.at(victim.name);
    const bool counts = worker.phase != Phase::kRequeued;
    if (counts && pool.view.counted <= pool.view.want) break;
    pool.view.counted -= counts ? 1 : 0;
    pool.view.attached -= worker.phase == Phase::kAttached ? 1 : 0;
    const auto kind = worker.pending ? Action::Kind::kKill : Action::Kind::kDrain;
    if (worker.pending) worker.killed_ms = now_ms;
    Enter(worker, Phase::kDraining, now_ms);
    actions.push_back({kind, pool.terms.name, victim.name,
                       "one too many: " + std::to_string(pool.view.want) + " wanted"});
  }
}

}  // namespace mlc::server::fleet
