#include "server/scheduler/leases.h"

#include <algorithm>
#include <utility>

namespace mlc::server {
namespace {

// Trials that bring their source, of one answer: each may take 1.4 MiB of the message.
constexpr int kMaxSources = 16;

}  // namespace

Leases::Queue& Leases::QueueOf(const Digest& job_id, const Needs& needs) {
  Queue& queue = queues_[{job_id, needs}];
  queue.job_id = job_id;
  queue.needs = needs;
  return queue;
}

Leases::Worker& Leases::WorkerOf(const std::string& name) {
  Worker& worker = workers_[name];
  worker.name = name;
  return worker;
}

bool Leases::Add(const Ask& ask) {
  if (!ask.only.empty()) {
    const auto worker = workers_.find(ask.only);
    if (worker == workers_.end() || !worker->second.alive) return false;
  }
  const auto [place, added] = trials_.try_emplace(ask.uid);
  if (!added) return false;
  Trial& trial = place->second;
  trial.queue = &QueueOf(ask.job_id, ask.needs);
  ++trial.queue->trials;
  trial.only = ask.only;
  trial.avoid = ask.avoid;
  trial.avoid_until_ms = ask.avoid_until_ms;
  ++counts_.issued;
  Enqueue(ask.uid, trial, /*in_front=*/false);
  return true;
}

void Leases::Enqueue(const Digest& uid, Trial& trial, bool in_front) {
  trial.state = State::kQueued;
  trial.place = in_front ? --first_place_ : ++last_place_;
  ++counts_.queued;
  if (!trial.only.empty()) {
    workers_.at(trial.only).for_it.insert(uid);
    return;
  }
  Wait(*trial.queue, 1);
  if (trial.suspect() || !trial.avoid.empty()) {
    trial.queue->special[trial.place] = uid;
  } else {
    trial.queue->fresh[trial.place] = uid;
  }
}

void Leases::Dequeue(const Digest& uid, Trial& trial) {
  --counts_.queued;
  if (!trial.only.empty()) {
    workers_.at(trial.only).for_it.erase(uid);
    return;
  }
  Wait(*trial.queue, -1);
  if (trial.queue->fresh.erase(trial.place) == 0) trial.queue->special.erase(trial.place);
}

// So many more trials of the queue's job wait for workers of its class.
void Leases::Wait(const Queue& queue, int count) {
  const auto place = waiting_.try_emplace({queue.needs.target_class, queue.job_id}, 0).first;
  const bool waited = place->second > 0;
  place->second += count;
  const bool waits = place->second > 0;
  if (waits != waited) shares_.SetWaiting(queue.needs.target_class, queue.job_id, waits);
  if (!waits) waiting_.erase(place);
}

void Leases::Lease(const Digest& uid, Trial& trial, Worker& worker) {
  Dequeue(uid, trial);
  trial.state = State::kLeased;
  trial.worker = &worker;
  trial.leased_ms = worker.last_contact_ms;
  trial.seen = false;
  worker.leases.insert(uid);
  worker.suspects += trial.suspect() ? 1 : 0;
  ++trial.queue->leased;
  ++counts_.leased;
}

void Leases::Release(const Digest& uid, Trial& trial) {
  trial.worker->leases.erase(uid);
  trial.worker->suspects -= trial.suspect() ? 1 : 0;
  trial.worker = nullptr;
  --trial.queue->leased;
  --counts_.leased;
}

void Leases::Erase(const Digest& uid) {
  const auto found = trials_.find(uid);
  Queue& queue = *found->second.queue;
  trials_.erase(found);
  if (--queue.trials == 0) queues_.erase(std::make_pair(queue.job_id, queue.needs));
}

void Leases::Move(Worker& worker, int64_t deadline_ms) {
  deadlines_.erase({worker.deadline_ms, &worker});
  worker.deadline_ms = deadline_ms;
  deadlines_.insert({deadline_ms, &worker});
}

Leases::Orders Leases::Synchronize(const Contact& contact, int64_t now_ms) {
  Worker& worker = WorkerOf(contact.worker);
  Orders orders;
  if (worker.IsPast(contact.incarnation, contact.sequence)) {
    orders.stale = true;
    return orders;
  }
  PayFor(worker, now_ms, orders);
  const std::set<Digest> holding(contact.holding.begin(), contact.holding.end());
  const bool restarted = worker.SetIncarnation(contact.incarnation);
  worker.sequence = contact.sequence;
  worker.offer = contact.offer;
  worker.last_contact_ms = now_ms;
  worker.alive = true;
  worker.eligible = contact.trusted && !contact.draining;
  Move(worker, now_ms + terms_.lease_ms);
  LoseAll(worker, restarted ? Loss::kWorkerLost : Loss::kReplyLost, holding);
  for (const Digest& uid : holding) {
    if (!worker.leases.contains(uid) && !Adopt(uid, worker, contact.quarantined)) {
      orders.cancelled.push_back(uid);
    } else {
      trials_.at(uid).seen = true;
    }
  }
  GrantTo(worker, contact, now_ms, orders);
  worker.held = static_cast<int>(worker.leases.size());
  return orders;
}

bool Leases::Adopt(const Digest& uid, Worker& worker, bool quarantined) {
  const auto found = trials_.find(uid);
  if (found == trials_.end()) return false;
  Trial& trial = found->second;
  if (trial.state != State::kQueued || !worker.offer.Meets(trial.queue->needs)) return false;
  if (trial.only.empty() ? quarantined : trial.only != worker.name) return false;
  if (trial.avoid == worker.name) return false;
  // A worker that reconnects and still holds the trial was not killed by it.
  trial.lost.erase(worker.name);
  Lease(uid, trial, worker);
  return true;
}

// Whether a trial that only some workers may take may go to this one.
bool Leases::Suits(const Trial& trial, const Worker& worker, int64_t now_ms) const {
  if (trial.suspect() && worker.suspects > 0) return false;
  if (trial.avoid == worker.name && now_ms < trial.avoid_until_ms) return false;
  return !trial.lost.contains(worker.name) || !OthersCan(trial, worker);
}

bool Leases::OthersCan(const Trial& trial, const Worker& worker) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& other = entry.second;
    return &other != &worker && other.alive && other.eligible && !trial.lost.contains(other.name) &&
           other.offer.Meets(trial.queue->needs);
  });
}

// The trial of a queue that comes next for the worker.
std::optional<Digest> Leases::Next(const Queue& queue, const Worker& worker, int64_t now_ms) const {
  for (const auto& [place, uid] : queue.special) {
    if (Suits(trials_.at(uid), worker, now_ms)) return uid;
  }
  if (queue.fresh.empty()) return std::nullopt;
  return queue.fresh.begin()->second;
}

std::optional<Digest> Leases::NextFor(const Worker& worker, int64_t now_ms) {
  for (const Digest& job_id : shares_.Order(worker.offer.target_class)) {
    const Needs least{worker.offer.target_class, {}, INT64_MIN};
    for (auto it = queues_.lower_bound({job_id, least}); it != queues_.end(); ++it) {
      const Queue& queue = it->second;
      if (queue.job_id != job_id || queue.needs.target_class != worker.offer.target_class) break;
      if (!worker.offer.Meets(queue.needs)) continue;
      if (const std::optional<Digest> uid = Next(queue, worker, now_ms)) return uid;
    }
  }
  return std::nullopt;
}

void Leases::GrantTo(Worker& worker, const Contact& contact, int64_t now_ms, Orders& orders) {
  int sources = 0;
  const auto wants = [&] {
    return static_cast<int>(orders.grants.size()) < contact.want && sources < kMaxSources;
  };
  const auto grant = [&](const Digest uid) {
    Trial& trial = trials_.at(uid);
    Lease(uid, trial, worker);
    orders.grants.push_back({uid, trial.attempts + 1});
    sources += trial.queue->needs.reported_only ? 1 : 0;
    ++counts_.granted;
  };
  while (wants() && !worker.for_it.empty()) grant(*worker.for_it.begin());
  while (contact.trusted && wants()) {
    const std::optional<Digest> uid = NextFor(worker, now_ms);
    if (!uid) return;
    Trial& trial = trials_.at(*uid);
    trial.charged = shares_.Charge(worker.offer.target_class, trial.queue->job_id);
    grant(*uid);
  }
}

Leases::Receipt Leases::Receive(const Digest& uid, std::optional<double> device_s) {
  const auto found = trials_.find(uid);
  if (found == trials_.end()) return Receipt::kUnknown;
  Trial& trial = found->second;
  if (trial.state == State::kReceived) return Receipt::kBeingCommitted;
  if (trial.state == State::kQueued) {
    Dequeue(uid, trial);
  } else {
    trial.worker->received.push_back(
        {trial.queue->job_id, trial.charged, trial.leased_ms, device_s});
    Release(uid, trial);
  }
  trial.charged = 0;
  trial.state = State::kReceived;
  ++counts_.received;
  return Receipt::kFirst;
}

void Leases::Finish(const Digest& uid) {
  const auto found = trials_.find(uid);
  if (found == trials_.end() || found->second.state != State::kReceived) return;
  --counts_.received;
  ++counts_.done;
  Erase(uid);
}

}  // namespace mlc::server
