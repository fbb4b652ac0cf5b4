// Trials that end without a result: with their worker, in its hands, or with their job.
#include <algorithm>
#include <utility>

#include "server/scheduler/leases.h"

namespace mlc::server {
namespace {

using lease_state::State;

// A worker not heard of for this many lease times is forgotten.
constexpr int64_t kForgetAfterLeases = 20;
// A trial whose leases never reach a worker is not the network's fault any more.
constexpr int kMaxStrays = 20;
// Why a trial for one worker alone ends.
constexpr char kItsWorkerLost[] = "its worker was lost";

}  // namespace

void Leases::Disconnected(const std::string& name, const std::string& incarnation, int64_t now_ms) {
  Worker* worker = book_.workers().Find(name);
  if (worker == nullptr || worker->incarnation != incarnation || !worker->alive) return;
  book_.workers().SetDeadline(*worker,
                              std::min(worker->deadline_ms, now_ms + terms_.disconnect_ms));
}

// Takes back what the worker has leased, but for some.
void Leases::LoseAll(Worker& worker, Loss loss, const std::set<Digest>& but) {
  const std::set<Digest> leased = worker.leases;
  for (const Digest& uid : leased) {
    if (but.contains(uid)) continue;
    const bool forgotten = loss == Loss::kReplyLost && book_.At(uid).seen;
    std::string why = Lose(uid, forgotten ? Loss::kNotMade : loss);
    if (!why.empty()) ended_.push_back({uid, std::move(why)});
  }
}

std::string Leases::Lose(const Digest& uid, Loss loss) {
  Trial& trial = book_.At(uid);
  const std::string worker = trial.worker == nullptr ? std::string() : trial.worker->name;
  book_.Take(uid, trial);
  if (loss == Loss::kReplyLost && ++trial.strays < kMaxStrays) {
    book_.Requeue(uid, trial);
    return {};
  }
  ++trial.attempts;
  if (loss == Loss::kWorkerLost) book_.Count(&LeaseCounts::lost);
  if (loss == Loss::kWorkerLost && !worker.empty()) trial.lost.insert(worker);
  if (!trial.only.empty()) {
    book_.End(uid, &LeaseCounts::dropped);
    return kItsWorkerLost;
  }
  std::string why;
  if (static_cast<int>(trial.lost.size()) >= terms_.max_losses) {
    why = "lost with " + std::to_string(trial.lost.size()) + " workers, last " + worker;
  } else if (trial.attempts >= terms_.max_attempts) {
    why = "no result after " + std::to_string(trial.attempts) + " attempts";
  }
  if (why.empty()) {
    // In front: an old trial holds up its whole batch.
    book_.Count(&LeaseCounts::retried);
    book_.Requeue(uid, trial);
  } else {
    book_.End(uid, &LeaseCounts::quarantined);
  }
  return why;
}

void Leases::Undo(const Digest& uid) {
  Trial* trial = book_.Find(uid);
  if (trial == nullptr || trial->state != State::kReceived) return;
  // The worker did its part: the attempt does not count.
  book_.Take(uid, *trial);
  if (!trial->only.empty() && !workers().IsInContact(trial->only)) {
    book_.End(uid, &LeaseCounts::dropped);
    ended_.push_back({uid, kItsWorkerLost});
    return;
  }
  book_.Requeue(uid, *trial);
}

bool Leases::Retry(const Digest& uid) {
  return book_.Find(uid) == nullptr || Lose(uid, Loss::kNotMade).empty();
}

void Leases::Quarantine(const Digest& uid) {
  if (Receive(uid) == Receipt::kUnknown) return;
  book_.Take(uid, book_.At(uid));
  book_.End(uid, &LeaseCounts::quarantined);
}

std::vector<Leases::Ended> Leases::Expire(int64_t now_ms) {
  while (Worker* worker = book_.workers().Overdue(now_ms)) {
    if (!worker->alive) {
      book_.workers().Erase(*worker);
      continue;
    }
    worker->alive = false;
    LoseAll(*worker, Loss::kWorkerLost, {});
    const std::set<Digest> for_it = worker->for_it;
    for (const Digest& uid : for_it) ended_.push_back({uid, Lose(uid, Loss::kWorkerLost)});
    worker->held = 0;
    worker->passed_s = 0;
    worker->received.clear();
    book_.workers().SetDeadline(*worker,
                                worker->last_contact_ms + kForgetAfterLeases * terms_.lease_ms);
  }
  return std::exchange(ended_, {});
}

void Leases::Forget(const std::string& name) {
  const Worker* worker = workers().Find(name);
  if (worker != nullptr && !worker->alive) book_.workers().Erase(*worker);
}

std::vector<Digest> Leases::DropQueued(const Digest& job_id) {
  std::vector<Digest> dropped = queues().QueuedOf(job_id);
  for (const Digest& uid : dropped) {
    book_.Take(uid, book_.At(uid));
    book_.End(uid, &LeaseCounts::dropped);
  }
  return dropped;
}

std::vector<Digest> Leases::DropAll(const Digest& job_id) {
  std::vector<Digest> dropped = DropQueued(job_id);
  for (const Digest& uid : book_.LeasedOf(job_id)) {
    book_.Take(uid, book_.At(uid));
    book_.End(uid, &LeaseCounts::dropped);
    dropped.push_back(uid);
  }
  return dropped;
}

}  // namespace mlc::server
