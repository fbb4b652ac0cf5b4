#include "tests/unit/server/scheduler/leases_model.h"

#include <algorithm>

namespace mlc::server {

bool LeasesModel::Live(const Trial& trial) {
  return trial.at == At::kQueued || trial.at == At::kLeased || trial.at == At::kReceived;
}

bool LeasesModel::Add(const Leases::Ask& ask) {
  if (trials.contains(ask.uid) && Live(trials[ask.uid])) return false;
  if (!ask.only.empty() && !workers[ask.only].alive) return false;
  if (trials.contains(ask.uid)) ended_again_.push_back(trials[ask.uid].at);
  trials[ask.uid] = Trial{ask, At::kQueued, {}, false, 0, 0, {}, 0, false};
  return true;
}

bool LeasesModel::Renew(Worker& worker, const Leases::Contact& contact, bool& restarted) {
  constexpr size_t kOldIncarnations =
      4;  // so many old processes of a worker are told from a new one
  if (contact.incarnation == worker.incarnation && contact.sequence <= worker.sequence)
    return false;
  if (std::count(worker.old_incarnations.begin(), worker.old_incarnations.end(),
                 contact.incarnation) > 0)
    return false;
  restarted = !worker.incarnation.empty() && worker.incarnation != contact.incarnation;
  if (restarted) worker.old_incarnations.push_back(worker.incarnation);
  if (worker.old_incarnations.size() > kOldIncarnations)
    worker.old_incarnations.erase(worker.old_incarnations.begin());
  worker.incarnation = contact.incarnation;
  worker.sequence = contact.sequence;
  worker.offer = contact.offer;
  worker.alive = true;
  worker.eligible = contact.trusted && !contact.draining;
  return true;
}

void LeasesModel::TakeBack(const std::string& name, const std::set<Digest>& holding,
                           bool restarted) {
  constexpr int kStrays = 20;
  for (auto& [uid, trial] : trials) {
    if (trial.at != At::kLeased || trial.holder != name || holding.contains(uid)) continue;
    if (restarted) {
      Lose(uid, trial, name);
    } else if (trial.seen || ++trial.strays >= kStrays) {
      Fail(uid, trial);
    } else {
      trial.at = At::kQueued;
    }
  }
}

bool LeasesModel::Adopts(const Trial& trial, const std::string& name, bool quarantined) {
  return trial.at == At::kQueued && workers[name].offer.Meets(trial.ask.needs) &&
         (trial.ask.only.empty() ? !quarantined : trial.ask.only == name) &&
         trial.ask.avoid != name;
}

bool LeasesModel::Contact(const Leases::Contact& contact, int64_t now,
                          std::set<Digest>& cancelled) {
  const std::string& name = contact.worker;
  Worker& worker = workers[name];
  bool restarted = false;
  paid.clear();
  if (!Renew(worker, contact, restarted)) return false;
  Pay(worker, now, HeldBy(name));
  worker.called = now;
  worker.deadline = now + terms_.lease_ms;
  const std::set<Digest> holding(contact.holding.begin(), contact.holding.end());
  TakeBack(name, holding, restarted);
  for (const Digest& uid : holding) {
    const auto found = trials.find(uid);
    if (found == trials.end()) {
      cancelled.insert(uid);
      continue;
    }
    Trial& trial = found->second;
    if (Adopts(trial, name, contact.quarantined)) {
      trial.lost.erase(name);
      Hold(trial, name);
    } else if (trial.at != At::kLeased || trial.holder != name) {
      cancelled.insert(uid);
      continue;
    }
    trial.seen = true;
  }
  return true;
}

bool LeasesModel::MayHave(const Trial& trial, const std::string& name, bool trusted, int64_t now) {
  if (trial.at != At::kQueued) return false;
  if (!trial.ask.only.empty()) return trial.ask.only == name;
  if (!trusted || !workers[name].offer.Meets(trial.ask.needs)) return false;
  if (trial.ask.avoid == name && now < trial.ask.avoid_until_ms) return false;
  if (trial.lost.empty()) return true;
  for (const auto& [uid, other] : trials) {
    if (other.at == At::kLeased && other.holder == name && !other.lost.empty()) return false;
  }
  if (!trial.lost.contains(name)) return true;
  return std::none_of(workers.begin(), workers.end(), [&](const auto& entry) {
    const auto& [other, worker] = entry;
    return other != name && worker.alive && worker.eligible && !trial.lost.contains(other) &&
           worker.offer.Meets(trial.ask.needs);
  });
}

void LeasesModel::Hold(Trial& trial, const std::string& name) {
  trial.at = At::kLeased;
  trial.holder = name;
  trial.seen = false;
  trial.leased = workers[name].called;
}

bool LeasesModel::Stuck(const Digest& job_id) const {
  return std::any_of(trials.begin(), trials.end(), [&](const auto& entry) {
    const Trial& trial = entry.second;
    if (trial.at != At::kQueued || trial.ask.job_id != job_id || !trial.ask.only.empty())
      return false;
    return std::none_of(workers.begin(), workers.end(), [&](const auto& other) {
      const Worker& worker = other.second;
      return worker.alive && worker.eligible && worker.offer.Meets(trial.ask.needs);
    });
  });
}

Leases::Load LeasesModel::LoadOf(const Digest& job_id) const {
  Leases::Load load;
  for (const auto& [uid, trial] : trials) {
    if (trial.ask.job_id != job_id) continue;
    load.queued += trial.at == At::kQueued && trial.ask.only.empty() ? 1 : 0;
    load.leased += trial.at == At::kLeased ? 1 : 0;
  }
  return load;
}

void LeasesModel::Answered(const std::string& name) { workers[name].held = HeldBy(name); }

int64_t LeasesModel::HeldBy(const std::string& name) const {
  return std::count_if(trials.begin(), trials.end(), [&](const auto& entry) {
    return entry.second.at == At::kLeased && entry.second.holder == name;
  });
}

void LeasesModel::Receive(Trial& trial, std::optional<double> reported_s) {
  if (trial.at == At::kLeased) {
    workers[trial.holder].results.push_back(
        {trial.ask.job_id, trial.charged, trial.leased, reported_s});
  }
  trial.charged = false;
  trial.at = At::kReceived;
}

// Device by device and stretch by stretch: the n-th of them is at work while n trials are there.
void LeasesModel::Pay(Worker& worker, int64_t now, int64_t leases) {
  constexpr int64_t kTogetherMs = 20;  // results so close to each other are paid at once
  worker.stretches.push_back({worker.called, now, worker.held});
  const bool due = !worker.results.empty() && now - worker.paid >= kTogetherMs;
  if (!due && (leases > 0 || !worker.results.empty())) return;
  int64_t passed = 0;
  for (int device = 1; device <= worker.offer.devices; ++device) {
    for (const Worker::Stretch& one : worker.stretches) {
      if (one.held >= device) passed += one.to - one.from;
    }
  }
  for (const Worker::Result& one : worker.results) {
    if (!one.charged) continue;
    double ms = static_cast<double>(passed) / static_cast<double>(worker.results.size());
    if (one.reported_s) {
      const auto most = static_cast<double>((now - one.leased) * worker.offer.devices);
      ms = std::min(*one.reported_s * 1000, most);
    }
    paid.push_back({one.job_id, ms / 1000});
  }
  worker.results.clear();
  worker.stretches.clear();
  worker.paid = now;
}

void LeasesModel::Fail(const Digest& uid, Trial& trial) {
  ++trial.attempts;
  trial.at = At::kQueued;
  if (!trial.ask.only.empty()) {
    trial.at = At::kDropped;
  } else if (trial.attempts >= terms_.max_attempts ||
             static_cast<int>(trial.lost.size()) >= terms_.max_losses) {
    trial.at = At::kQuarantined;
  }
  if (trial.at != At::kQueued) ended.insert(uid);
}

void LeasesModel::Lose(const Digest& uid, Trial& trial, const std::string& name) {
  trial.lost.insert(name);
  Fail(uid, trial);
}

void LeasesModel::Expire(int64_t now) {
  for (auto& [name, worker] : workers) {
    if (!worker.alive || worker.deadline >= now) continue;
    worker.alive = false;
    worker.held = 0;
    worker.stretches.clear();
    worker.results.clear();
    for (auto& [uid, trial] : trials) {
      if (trial.at == At::kLeased && trial.holder == name) Lose(uid, trial, name);
      if (trial.at == At::kQueued && trial.ask.only == name) Fail(uid, trial);
    }
  }
}

int64_t LeasesModel::Count(At at) const {
  return std::count_if(trials.begin(), trials.end(),
                       [&](const auto& entry) { return entry.second.at == at; }) +
         std::count(ended_again_.begin(), ended_again_.end(), at) +
         forgotten_[static_cast<size_t>(at)];
}

void LeasesModel::Sweep() {
  std::erase_if(trials, [&](const auto& entry) {
    if (Live(entry.second)) return false;
    ++forgotten_[static_cast<size_t>(entry.second.at)];
    return true;
  });
}

}  // namespace mlc::server
