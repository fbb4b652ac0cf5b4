#include "server/workers/worker_roster.h"

namespace mlc::server {

Status WorkerRoster::Admit(const std::string& worker, const std::string& owner) const {
  if (live() >= terms_.max_live) {
    return ResourceExhausted("worker " + worker +
                             " exceeds a limit: " + std::to_string(terms_.max_live) +
                             " are in contact or called a moment ago (mlc-server --max-workers)");
  }
  const auto of_owner = live_of_.find(owner);
  if (of_owner == live_of_.end() || of_owner->second < terms_.max_of_owner) return Status();
  return ResourceExhausted(
      "worker " + worker + " exceeds a limit: " + std::to_string(terms_.max_of_owner) +
      (owner.empty() ? " local workers" : " workers of " + owner) +
      " are in contact or called a moment ago (mlc-server --max-workers-each)");
}

Status WorkerRoster::RecordContact(const std::string& worker, const std::string& owner,
                                   int64_t now_ms) {
  const auto known = workers_.find(worker);
  const bool stays =
      known != workers_.end() && known->second.place == &live_ && known->second.owner == owner;
  if (!stays) MLC_TRY(Admit(worker, owner));
  Worker& entry = workers_[worker];
  if (entry.place != nullptr) Unlink(worker, entry);
  entry = {owner, now_ms, &live_};
  live_.emplace(now_ms, worker);
  ++live_of_[owner];
  return Status();
}

void WorkerRoster::Unlink(const std::string& worker, Worker& entry) {
  entry.place->erase({entry.called_ms, worker});
  if (entry.place != &live_) return;
  const auto of_owner = live_of_.find(entry.owner);
  if (--of_owner->second == 0) live_of_.erase(of_owner);
}

void WorkerRoster::DemoteSilent(const std::function<bool(const std::string&)>& is_excluded,
                                int64_t now_ms) {
  while (!live_.empty() && live_.begin()->first < now_ms - away_ms_) {
    const std::string name = live_.begin()->second;
    Worker& entry = workers_.at(name);
    Unlink(name, entry);
    entry.place = is_excluded(name) ? &silent_excluded_ : &silent_;
    entry.place->emplace(entry.called_ms, name);
  }
}

void WorkerRoster::Evict(ByTime& silent, int64_t most, int64_t before_ms,
                         std::vector<std::string>& gone) {
  while (!silent.empty() &&
         (static_cast<int64_t>(silent.size()) > most || silent.begin()->first <= before_ms)) {
    gone.push_back(silent.begin()->second);
    workers_.erase(gone.back());
    silent.erase(silent.begin());
  }
}

std::vector<std::string> WorkerRoster::Forget(
    const std::function<bool(const std::string&)>& is_excluded, int64_t now_ms) {
  DemoteSilent(is_excluded, now_ms);
  std::vector<std::string> gone;
  Evict(silent_, terms_.max_silent, now_ms - terms_.forget_ms, gone);
  Evict(silent_excluded_, terms_.max_silent_excluded, now_ms - terms_.forget_excluded_ms, gone);
  return gone;
}

}  // namespace mlc::server
