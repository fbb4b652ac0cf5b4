#include "server/scheduler/trial_queues.h"

namespace mlc::server {
namespace {

using lease_state::Queue;
using lease_state::Trial;

// Before all needs of the class.
Needs LeastOf(std::string target_class) { return {std::move(target_class), {}, INT64_MIN}; }

bool Waits(const Queue& queue) { return !queue.fresh.empty() || !queue.special.empty(); }

void Count(const Queue& queue, LeaseLoad& load) {
  load.queued += static_cast<int64_t>(queue.fresh.size() + queue.special.size());
  load.leased += queue.leased;
}

// The trial of a queue that comes next.
std::optional<Digest> Next(const Queue& queue, const std::function<bool(const Digest&)>& suits) {
  for (const auto& [place, uid] : queue.special) {
    if (suits(uid)) return uid;
  }
  if (queue.fresh.empty()) return std::nullopt;
  return queue.fresh.begin()->second;
}

}  // namespace

Queue& TrialQueues::Join(const Digest& job_id, const Needs& needs) {
  Queue& queue = queues_[{job_id, needs}];
  queue.job_id = job_id;
  queue.needs = needs;
  ++queue.trials;
  return queue;
}

void TrialQueues::Leave(Queue& queue) {
  if (--queue.trials == 0) queues_.erase(std::make_pair(queue.job_id, queue.needs));
}

void TrialQueues::Push(const Digest& uid, Trial& trial, bool in_front) {
  trial.place = in_front ? --first_place_ : ++last_place_;
  Wait(*trial.queue, 1);
  if (trial.suspect() || !trial.avoid.empty()) {
    trial.queue->special[trial.place] = uid;
  } else {
    trial.queue->fresh[trial.place] = uid;
  }
}

void TrialQueues::Remove(const Trial& trial) {
  Wait(*trial.queue, -1);
  if (trial.queue->fresh.erase(trial.place) == 0) trial.queue->special.erase(trial.place);
}

void TrialQueues::Wait(const Queue& queue, int count) {
  const auto place = waiting_.try_emplace({queue.needs.target_class, queue.job_id}, 0).first;
  const bool waited = place->second > 0;
  place->second += count;
  const bool waits = place->second > 0;
  if (waits != waited) shares_.SetWaiting(queue.needs.target_class, queue.job_id, waits);
  if (!waits) waiting_.erase(place);
}

std::optional<Digest> TrialQueues::NextFor(const Offer& offer,
                                           const std::function<bool(const Digest&)>& suits) const {
  for (const Digest& job_id : shares_.Order(offer.target_class)) {
    const Needs least = LeastOf(offer.target_class);
    for (auto it = queues_.lower_bound({job_id, least}); it != queues_.end(); ++it) {
      const Queue& queue = it->second;
      if (queue.job_id != job_id || queue.needs.target_class != offer.target_class) break;
      if (!offer.Meets(queue.needs)) continue;
      if (const std::optional<Digest> uid = Next(queue, suits)) return uid;
    }
  }
  return std::nullopt;
}

std::vector<Digest> TrialQueues::QueuedOf(const Digest& job_id) const {
  std::vector<Digest> queued;
  for (auto it = FirstOf(job_id); it != queues_.end() && it->second.job_id == job_id; ++it) {
    for (const auto* part : {&it->second.fresh, &it->second.special}) {
      for (const auto& [place, uid] : *part) queued.push_back(uid);
    }
  }
  return queued;
}

std::optional<Needs> TrialQueues::Unserved(
    const Digest& job_id, const std::function<bool(const Needs&)>& is_served) const {
  for (auto it = FirstOf(job_id); it != queues_.end() && it->second.job_id == job_id; ++it) {
    const Queue& queue = it->second;
    if (Waits(queue) && !is_served(queue.needs)) return queue.needs;
  }
  return std::nullopt;
}

std::map<Needs, LeaseLoad> TrialQueues::LoadByNeeds() const {
  std::map<Needs, LeaseLoad> loads;
  for (const auto& [key, queue] : queues_) Count(queue, loads[queue.needs]);
  return loads;
}

LeaseLoad TrialQueues::LoadOf(const Digest& job_id) const {
  LeaseLoad load;
  for (auto it = FirstOf(job_id); it != queues_.end() && it->second.job_id == job_id; ++it) {
    Count(it->second, load);
  }
  return load;
}

TrialQueues::Queues::const_iterator TrialQueues::FirstOf(const Digest& job_id) const {
  return queues_.lower_bound({job_id, LeastOf({})});
}

}  // namespace mlc::server
