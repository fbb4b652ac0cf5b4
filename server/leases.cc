#include "server/leases.h"

#include <algorithm>
#include <utility>

namespace mlc::server {
namespace {

// A worker not heard of for this many lease times is forgotten.
constexpr int64_t kForgetAfterLeases = 20;

}  // namespace

bool Leases::Add(const Digest& uid, const Digest& study, const std::string& target_class) {
  Trial trial;
  trial.study = study;
  trial.target_class = target_class;
  if (!trials_.emplace(uid, std::move(trial)).second) return false;
  QueueOf(study, target_class).trials.push_back(uid);
  return true;
}

Leases::Queue& Leases::QueueOf(const Digest& study, const std::string& target_class) {
  for (Queue& queue : queues_) {
    if (queue.study == study && queue.target_class == target_class) return queue;
  }
  return queues_.emplace_back(Queue{study, target_class, {}});
}

Leases::Orders Leases::Synchronize(const Contact& contact, int64_t now_ms) {
  Worker& worker = workers_[contact.worker];
  worker.boot = contact.boot;
  worker.target_class = contact.target_class;
  worker.last_contact_ms = now_ms;
  const std::set<Digest> holding(contact.holding.begin(), contact.holding.end());
  TakeBackLost(worker, holding);
  Orders orders;
  for (const Digest& uid : holding) {
    if (!worker.leases.contains(uid) && !Adopt(uid, contact.worker, worker))
      orders.cancelled.push_back(uid);
  }
  GrantTo(contact.worker, worker, contact.want, orders);
  return orders;
}

// Covers a restarted worker, whose new process holds nothing, and a reply lost on its way.
void Leases::TakeBackLost(Worker& worker, const std::set<Digest>& holding) {
  const std::set<Digest> leased = worker.leases;
  for (const Digest& uid : leased) {
    if (!holding.contains(uid) && !Requeue(uid)) exhausted_.push_back(uid);
  }
}

bool Leases::Adopt(const Digest& uid, const std::string& name, Worker& worker) {
  const auto found = trials_.find(uid);
  if (found == trials_.end()) return false;
  Trial& trial = found->second;
  if (trial.state != State::kQueued || trial.target_class != worker.target_class) return false;
  std::erase(QueueOf(trial.study, trial.target_class).trials, uid);
  trial.state = State::kLeased;
  trial.worker = name;
  ++trial.attempt;
  worker.leases.insert(uid);
  return true;
}

void Leases::GrantTo(const std::string& name, Worker& worker, int want, Orders& orders) {
  size_t empty_in_a_row = 0;
  while (want > 0 && empty_in_a_row < queues_.size()) {
    Queue& queue = queues_[next_queue_++ % queues_.size()];
    if (queue.target_class != worker.target_class || queue.trials.empty()) {
      ++empty_in_a_row;
      continue;
    }
    empty_in_a_row = 0;
    const Digest uid = queue.trials.front();
    queue.trials.pop_front();
    Trial& trial = trials_.at(uid);
    trial.state = State::kLeased;
    trial.worker = name;
    ++trial.attempt;
    worker.leases.insert(uid);
    orders.grants.push_back({uid, trial.attempt});
    --want;
  }
}

void Leases::Release(const Digest& uid, Trial& trial) {
  const auto worker = workers_.find(trial.worker);
  if (worker != workers_.end()) worker->second.leases.erase(uid);
  trial.worker.clear();
}

bool Leases::Requeue(const Digest& uid) {
  const auto found = trials_.find(uid);
  Trial& trial = found->second;
  Release(uid, trial);
  if (trial.attempt >= terms_.max_attempts) {
    trials_.erase(found);
    return false;
  }
  trial.state = State::kQueued;
  // In front: an old trial holds up its whole batch.
  QueueOf(trial.study, trial.target_class).trials.push_front(uid);
  return true;
}

Leases::Receipt Leases::Receive(const Digest& uid) {
  const auto found = trials_.find(uid);
  if (found == trials_.end()) return Receipt::kUnknown;
  Trial& trial = found->second;
  if (trial.state == State::kReceived) return Receipt::kBeingCommitted;
  if (trial.state == State::kQueued) {
    std::erase(QueueOf(trial.study, trial.target_class).trials, uid);
  } else {
    Release(uid, trial);
  }
  trial.state = State::kReceived;
  return Receipt::kFirst;
}

void Leases::Finish(const Digest& uid) { trials_.erase(uid); }

void Leases::Undo(const Digest& uid) {
  const auto found = trials_.find(uid);
  if (found == trials_.end() || found->second.state != State::kReceived) return;
  // The worker did its part: the attempt does not count.
  found->second.attempt = std::max(0, found->second.attempt - 1);
  (void)Requeue(uid);
}

bool Leases::Retry(const Digest& uid) { return !trials_.contains(uid) || Requeue(uid); }

std::vector<Digest> Leases::Expire(int64_t now_ms) {
  for (auto& [name, worker] : workers_) {
    if (now_ms - worker.last_contact_ms > terms_.lease_ms) TakeBackLost(worker, {});
  }
  std::erase_if(workers_, [&](const auto& entry) {
    return now_ms - entry.second.last_contact_ms > kForgetAfterLeases * terms_.lease_ms;
  });
  return std::exchange(exhausted_, {});
}

std::vector<Digest> Leases::DropQueued(const Digest& study) {
  std::vector<Digest> dropped;
  for (Queue& queue : queues_) {
    if (queue.study != study) continue;
    dropped.insert(dropped.end(), queue.trials.begin(), queue.trials.end());
  }
  std::erase_if(queues_, [&](const Queue& queue) { return queue.study == study; });
  for (const Digest& uid : dropped) trials_.erase(uid);
  return dropped;
}

std::vector<Digest> Leases::DropAll(const Digest& study) {
  std::vector<Digest> dropped = DropQueued(study);
  for (auto& [uid, trial] : trials_) {
    if (trial.study != study || trial.state != State::kLeased) continue;
    Release(uid, trial);
    dropped.push_back(uid);
  }
  for (const Digest& uid : dropped) trials_.erase(uid);
  return dropped;
}

int Leases::WorkersOf(const std::string& target_class, int64_t now_ms) const {
  int count = 0;
  for (const auto& [name, worker] : workers_) {
    count +=
        worker.target_class == target_class && now_ms - worker.last_contact_ms <= terms_.lease_ms
            ? 1
            : 0;
  }
  return count;
}

int64_t Leases::queued() const {
  return std::count_if(trials_.begin(), trials_.end(),
                       [](const auto& entry) { return entry.second.state == State::kQueued; });
}
int64_t Leases::leased() const {
  return std::count_if(trials_.begin(), trials_.end(),
                       [](const auto& entry) { return entry.second.state == State::kLeased; });
}
int64_t Leases::received() const {
  return std::count_if(trials_.begin(), trials_.end(),
                       [](const auto& entry) { return entry.second.state == State::kReceived; });
}

}  // namespace mlc::server
