#include "server/scheduler/lease_book.h"

namespace mlc::server {

using lease_state::State;

bool LeaseBook::Add(const LeaseAsk& ask) {
  const auto [place, added] = trials_.try_emplace(ask.uid);
  if (!added) return false;
  Trial& trial = place->second;
  trial.queue = &queues_.Join(ask.job_id, ask.needs);
  trial.only = ask.only;
  trial.avoid = ask.avoid;
  trial.avoid_until_ms = ask.avoid_until_ms;
  ++counts_.issued;
  Enqueue(ask.uid, trial, /*in_front=*/false);
  return true;
}

LeaseBook::Trial* LeaseBook::Find(const Digest& uid) {
  const auto found = trials_.find(uid);
  return found == trials_.end() ? nullptr : &found->second;
}

void LeaseBook::Enqueue(const Digest& uid, Trial& trial, bool in_front) {
  trial.state = State::kQueued;
  ++counts_.queued;
  if (trial.only.empty()) {
    queues_.Push(uid, trial, in_front);
  } else {
    workers_.Find(trial.only)->for_it.insert(uid);
  }
}

void LeaseBook::Lease(const Digest& uid, Trial& trial, Worker& worker) {
  Take(uid, trial);
  trial.state = State::kLeased;
  trial.worker = &worker;
  trial.leased_ms = worker.last_contact_ms;
  trial.seen = false;
  worker.leases.insert(uid);
  worker.suspects += trial.suspect() ? 1 : 0;
  ++trial.queue->leased;
  ++counts_.leased;
}

void LeaseBook::Take(const Digest& uid, Trial& trial) {
  switch (trial.state) {
    case State::kQueued:
      --counts_.queued;
      if (trial.only.empty()) {
        queues_.Remove(trial);
      } else {
        workers_.Find(trial.only)->for_it.erase(uid);
      }
      break;
    case State::kLeased:
      trial.worker->leases.erase(uid);
      trial.worker->suspects -= trial.suspect() ? 1 : 0;
      trial.worker = nullptr;
      --trial.queue->leased;
      --counts_.leased;
      break;
    case State::kReceived:
      --counts_.received;
  }
}

void LeaseBook::Receive(Trial& trial) {
  trial.state = State::kReceived;
  ++counts_.received;
}

void LeaseBook::Requeue(const Digest& uid, Trial& trial) { Enqueue(uid, trial, /*in_front=*/true); }

void LeaseBook::End(const Digest& uid, int64_t LeaseCounts::*how) {
  Count(how);
  const auto found = trials_.find(uid);
  lease_state::Queue& queue = *found->second.queue;
  trials_.erase(found);
  queues_.Leave(queue);
}

std::vector<Digest> LeaseBook::LeasedOf(const Digest& job_id) const {
  std::vector<Digest> leased;
  for (const auto& [uid, trial] : trials_) {
    if (trial.queue->job_id == job_id && trial.state == State::kLeased) leased.push_back(uid);
  }
  return leased;
}

}  // namespace mlc::server
