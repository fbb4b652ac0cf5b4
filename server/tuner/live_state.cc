// What WorkerDirectory says of this moment.
#include <algorithm>

#include "server/tuner/worker_directory.h"

namespace mlc::server {
namespace {

// Trials of one worker that are told one by one.
constexpr size_t kMostHeld = 8;

}  // namespace

WorkerActivity WorkerDirectory::ActivityOf(const std::string& worker,
                                           const WorkerInfo& info) const {
  WorkerActivity activity;
  activity.clock_mhz = info.clock_mhz;
  if (info.use.trial_s > 0) {
    activity.use = std::clamp(info.use.busy_s / info.use.trial_s, 0.0, 1.0);
  }
  for (const Digest& uid : tables_.leases.workers().TrialsOf(worker)) {
    const auto found = tables_.pending.find(uid);
    if (found == tables_.pending.end()) {
      activity.held.emplace_back();  // a canary, or a second measurement
      continue;
    }
    const PendingTrial& trial = found->second;
    const int64_t held_ms = trial.leased_ms > 0 ? context_.NowMs() - trial.leased_ms : 0;
    activity.held.push_back({trial.job->spec.id.ToText(), tables_.Of(*trial.job).row.label,
                             trial.proposal.task, held_ms});
  }
  std::stable_sort(activity.held.begin(), activity.held.end(),
                   [](const HeldTrial& a, const HeldTrial& b) { return a.held_ms > b.held_ms; });
  if (activity.held.size() > kMostHeld) activity.held.resize(kMostHeld);
  return activity;
}

LiveState WorkerDirectory::Live() const {
  const MutexLock lock(tables_.mutex);
  LiveState state;
  for (const auto& [name, info] : tables_.registry.workers) {
    state.workers[name] = ActivityOf(name, info);
  }
  const FairShares& shares = tables_.leases.shares();
  for (auto& [target_class, users] : shares.SharesByClass()) {
    ClassQueue& queue = state.queues.emplace_back();
    queue.target_class = target_class;
    queue.users = users;
    for (const Digest& id : shares.Order(target_class)) {
      const Leases::Load load = tables_.leases.queues().LoadOf(id);
      WaitingJob waiting;
      waiting.queued = load.queued;
      waiting.leased = load.leased;
      if (const auto job = tables_.jobs.find(id); job != tables_.jobs.end()) {
        const db::JobRow& row = tables_.Of(*job->second).row;
        waiting.job = id.ToText();
        waiting.model = row.label;
        waiting.owner = row.owner;
        waiting.priority = row.priority;
      }
      queue.jobs.push_back(std::move(waiting));
    }
  }
  return state;
}

}  // namespace mlc::server
