#include "server/scheduler/leases.h"

#include "server/scheduler/device_time.h"

namespace mlc::server {
namespace {

using lease_state::State;

// Trials that bring their source, of one answer: each may take 1.4 MiB of the message.
constexpr int kMaxSources = 16;

}  // namespace

bool Leases::Add(const Ask& ask) {
  if (!ask.only.empty() && !workers().IsInContact(ask.only)) return false;
  return book_.Add(ask);
}

Leases::Orders Leases::Synchronize(const Contact& contact, int64_t now_ms) {
  Worker& worker = book_.workers().Of(contact.worker);
  Orders orders;
  if (worker.IsPast(contact.incarnation, contact.sequence)) {
    orders.stale = true;
    return orders;
  }
  PayForDevices(worker, now_ms, shares_, orders.paid);
  const std::set<Digest> holding(contact.holding.begin(), contact.holding.end());
  const bool restarted = worker.SetIncarnation(contact.incarnation);
  worker.sequence = contact.sequence;
  worker.offer = contact.offer;
  worker.last_contact_ms = now_ms;
  worker.alive = true;
  worker.eligible = contact.trusted && !contact.draining;
  book_.workers().SetDeadline(worker, now_ms + terms_.lease_ms);
  LoseAll(worker, restarted ? Loss::kWorkerLost : Loss::kReplyLost, holding);
  for (const Digest& uid : holding) {
    if (!worker.leases.contains(uid) && !Adopt(uid, worker, contact.quarantined)) {
      orders.cancelled.push_back(uid);
    } else {
      book_.At(uid).seen = true;
    }
  }
  GrantTo(worker, contact, now_ms, orders);
  worker.held = static_cast<int>(worker.leases.size());
  return orders;
}

bool Leases::Adopt(const Digest& uid, Worker& worker, bool quarantined) {
  Trial* trial = book_.Find(uid);
  if (trial == nullptr || trial->state != State::kQueued) return false;
  if (!worker.offer.Meets(trial->queue->needs)) return false;
  if (trial->only.empty() ? quarantined : trial->only != worker.name) return false;
  if (trial->avoid == worker.name) return false;
  // A worker that reconnects and still holds the trial was not killed by it.
  trial->lost.erase(worker.name);
  book_.Lease(uid, *trial, worker);
  return true;
}

// Whether a trial that only some workers may take may go to this one.
bool Leases::Suits(const Digest& uid, const Worker& worker, int64_t now_ms) {
  const Trial& trial = book_.At(uid);
  if (trial.suspect() && worker.suspects > 0) return false;
  if (trial.avoid == worker.name && now_ms < trial.avoid_until_ms) return false;
  return !trial.lost.contains(worker.name) || !book_.workers().OthersServe(trial, worker);
}

void Leases::GrantTo(Worker& worker, const Contact& contact, int64_t now_ms, Orders& orders) {
  int sources = 0;
  const auto wants = [&] {
    return static_cast<int>(orders.grants.size()) < contact.want && sources < kMaxSources;
  };
  const auto grant = [&](const Digest uid) {
    Trial& trial = book_.At(uid);
    book_.Lease(uid, trial, worker);
    orders.grants.push_back({uid, trial.attempts + 1});
    sources += trial.queue->needs.reported_only ? 1 : 0;
    book_.Count(&LeaseCounts::granted);
  };
  const auto suits = [&](const Digest& uid) { return Suits(uid, worker, now_ms); };
  while (wants() && !worker.for_it.empty()) grant(*worker.for_it.begin());
  while (contact.trusted && wants()) {
    const std::optional<Digest> uid = book_.queues().NextFor(worker.offer, suits);
    if (!uid) return;
    Trial& trial = book_.At(*uid);
    trial.charged = shares_.Charge(worker.offer.target_class, trial.queue->job_id);
    grant(*uid);
  }
}

Leases::Receipt Leases::Receive(const Digest& uid, std::optional<double> device_s) {
  Trial* trial = book_.Find(uid);
  if (trial == nullptr) return Receipt::kUnknown;
  if (trial->state == State::kReceived) return Receipt::kBeingCommitted;
  if (trial->state == State::kLeased) {
    trial->worker->received.push_back(
        {trial->queue->job_id, trial->charged, trial->leased_ms, device_s});
  }
  book_.Take(uid, *trial);
  trial->charged = 0;
  book_.Receive(*trial);
  return Receipt::kFirst;
}

void Leases::Finish(const Digest& uid) {
  Trial* trial = book_.Find(uid);
  if (trial == nullptr || trial->state != State::kReceived) return;
  book_.Take(uid, *trial);
  book_.End(uid, &LeaseCounts::done);
}

std::optional<Needs> Leases::Unserved(const Digest& job_id) const {
  return queues().Unserved(job_id, [this](const Needs& needs) { return workers().Serve(needs); });
}

}  // namespace mlc::server
