// Trials that end without a result: with their worker, in its hands, or with their job.
#include <algorithm>
#include <utility>

#include "server/scheduler/leases.h"

namespace mlc::server {
namespace {

// A worker not heard of for this many lease times is forgotten.
constexpr int64_t kForgetAfterLeases = 20;
// A trial whose leases never reach a worker is not the network's fault any more.
constexpr int kMaxStrays = 20;

}  // namespace

void Leases::Disconnected(const std::string& name, const std::string& incarnation, int64_t now_ms) {
  const auto found = workers_.find(name);
  if (found == workers_.end() || found->second.incarnation != incarnation || !found->second.alive)
    return;
  Worker& worker = found->second;
  Move(worker, std::min(worker.deadline_ms, now_ms + terms_.disconnect_ms));
}

// Takes back what the worker has leased, but for some.
void Leases::LoseAll(Worker& worker, Loss loss, const std::set<Digest>& but) {
  const std::set<Digest> leased = worker.leases;
  for (const Digest& uid : leased) {
    if (but.contains(uid)) continue;
    const Trial& trial = trials_.at(uid);
    const bool forgotten = loss == Loss::kReplyLost && trial.seen;
    std::string why = Lose(uid, forgotten ? Loss::kNotMade : loss);
    if (!why.empty()) ended_.push_back({uid, std::move(why)});
  }
}

std::string Leases::Lose(const Digest& uid, Loss loss) {
  Trial& trial = trials_.at(uid);
  const std::string worker = trial.worker == nullptr ? std::string() : trial.worker->name;
  if (trial.state == State::kLeased) {
    Release(uid, trial);
  } else if (trial.state == State::kReceived) {
    --counts_.received;
  } else {
    Dequeue(uid, trial);
  }
  if (loss == Loss::kReplyLost && ++trial.strays < kMaxStrays) {
    Enqueue(uid, trial, /*in_front=*/true);
    return {};
  }
  ++trial.attempts;
  counts_.lost += loss == Loss::kWorkerLost ? 1 : 0;
  if (loss == Loss::kWorkerLost && !worker.empty()) trial.lost.insert(worker);
  std::string why;
  if (!trial.only.empty()) {
    why = "its worker was lost";
    ++counts_.dropped;
  } else if (static_cast<int>(trial.lost.size()) >= terms_.max_losses) {
    why = "lost with " + std::to_string(trial.lost.size()) + " workers, last " + worker;
    ++counts_.quarantined;
  } else if (trial.attempts >= terms_.max_attempts) {
    why = "no result after " + std::to_string(trial.attempts) + " attempts";
    ++counts_.quarantined;
  }
  if (why.empty()) {
    // In front: an old trial holds up its whole batch.
    ++counts_.retried;
    Enqueue(uid, trial, /*in_front=*/true);
  } else {
    Erase(uid);
  }
  return why;
}

void Leases::Undo(const Digest& uid) {
  const auto found = trials_.find(uid);
  if (found == trials_.end() || found->second.state != State::kReceived) return;
  // The worker did its part: the attempt does not count.
  --counts_.received;
  Trial& trial = found->second;
  const auto only = workers_.find(trial.only);
  if (!trial.only.empty() && (only == workers_.end() || !only->second.alive)) {
    ++counts_.dropped;
    Erase(uid);
    ended_.push_back({uid, "its worker was lost"});
    return;
  }
  Enqueue(uid, trial, /*in_front=*/true);
}

bool Leases::Retry(const Digest& uid) {
  return !trials_.contains(uid) || Lose(uid, Loss::kNotMade).empty();
}

void Leases::Quarantine(const Digest& uid) {
  const auto found = trials_.find(uid);
  if (found == trials_.end() || Receive(uid) == Receipt::kUnknown) return;
  --counts_.received;
  ++counts_.quarantined;
  Erase(uid);
}

std::vector<Leases::Ended> Leases::Expire(int64_t now_ms) {
  while (!deadlines_.empty() && deadlines_.begin()->first < now_ms) {
    Worker& worker = *deadlines_.begin()->second;
    if (worker.alive) {
      worker.alive = false;
      LoseAll(worker, Loss::kWorkerLost, {});
      const std::set<Digest> for_it = worker.for_it;
      for (const Digest& uid : for_it) ended_.push_back({uid, Lose(uid, Loss::kWorkerLost)});
      worker.held = 0;
      worker.passed_s = 0;
      worker.received.clear();
      Move(worker, worker.last_contact_ms + kForgetAfterLeases * terms_.lease_ms);
    } else {
      deadlines_.erase(deadlines_.begin());
      workers_.erase(std::string(worker.name));
    }
  }
  return std::exchange(ended_, {});
}

void Leases::Forget(const std::string& name) {
  const auto found = workers_.find(name);
  if (found == workers_.end() || found->second.alive) return;
  deadlines_.erase({found->second.deadline_ms, &found->second});
  workers_.erase(found);
}

std::vector<Digest> Leases::DropQueued(const Digest& job_id) {
  std::vector<Digest> dropped;
  for (auto& [key, queue] : queues_) {
    if (queue.job_id != job_id) continue;
    for (const auto* part : {&queue.fresh, &queue.special}) {
      for (const auto& [place, uid] : *part) dropped.push_back(uid);
    }
  }
  for (const Digest& uid : dropped) {
    Dequeue(uid, trials_.at(uid));
    ++counts_.dropped;
    Erase(uid);
  }
  return dropped;
}

std::vector<Digest> Leases::DropAll(const Digest& job_id) {
  std::vector<Digest> dropped = DropQueued(job_id);
  std::vector<Digest> leased;
  for (auto& [uid, trial] : trials_) {
    if (trial.queue->job_id == job_id && trial.state == State::kLeased) leased.push_back(uid);
  }
  for (const Digest& uid : leased) {
    Release(uid, trials_.at(uid));
    ++counts_.dropped;
    Erase(uid);
  }
  dropped.insert(dropped.end(), leased.begin(), leased.end());
  return dropped;
}

}  // namespace mlc::server
