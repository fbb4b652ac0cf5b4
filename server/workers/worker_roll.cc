#include "server/workers/worker_roll.h"

namespace mlc::server {

Status WorkerRoll::Admit(const std::string& worker, const std::string& owner) const {
  if (live() >= terms_.most) {
    return ResourceExhausted("worker " + worker +
                             " is one too many: " + std::to_string(terms_.most) +
                             " are in contact, or were a moment ago (mlc-server --max-workers)");
  }
  const auto of_owner = live_of_.find(owner);
  if (of_owner == live_of_.end() || of_owner->second < terms_.most_of_owner) return Status();
  return ResourceExhausted("worker " + worker +
                           " is one too many: " + std::to_string(terms_.most_of_owner) +
                           (owner.empty() ? " local workers" : " workers of " + owner) +
                           " are in contact, or were a moment ago (mlc-server --max-workers-each)");
}

Status WorkerRoll::Called(const std::string& worker, const std::string& owner, int64_t now_ms) {
  const auto known = workers_.find(worker);
  const bool stays =
      known != workers_.end() && known->second.place == &live_ && known->second.owner == owner;
  if (!stays) MLC_TRY(Admit(worker, owner));
  Worker& entry = workers_[worker];
  if (entry.place != nullptr) Leave(worker, entry);
  entry = {owner, now_ms, &live_};
  live_.emplace(now_ms, worker);
  ++live_of_[owner];
  return Status();
}

void WorkerRoll::Leave(const std::string& worker, Worker& entry) {
  entry.place->erase({entry.called_ms, worker});
  if (entry.place != &live_) return;
  const auto of_owner = live_of_.find(entry.owner);
  if (--of_owner->second == 0) live_of_.erase(of_owner);
}

void WorkerRoll::Hush(const std::function<bool(const std::string&)>& is_kept, int64_t now_ms) {
  while (!live_.empty() && live_.begin()->first < now_ms - away_ms_) {
    const std::string name = live_.begin()->second;
    Worker& entry = workers_.at(name);
    Leave(name, entry);
    entry.place = is_kept(name) ? &silent_kept_ : &silent_;
    entry.place->emplace(entry.called_ms, name);
  }
}

void WorkerRoll::Drop(ByTime& silent, int64_t most, int64_t before_ms,
                      std::vector<std::string>& gone) {
  while (!silent.empty() &&
         (static_cast<int64_t>(silent.size()) > most || silent.begin()->first <= before_ms)) {
    gone.push_back(silent.begin()->second);
    workers_.erase(gone.back());
    silent.erase(silent.begin());
  }
}

std::vector<std::string> WorkerRoll::Forget(const std::function<bool(const std::string&)>& is_kept,
                                            int64_t now_ms) {
  Hush(is_kept, now_ms);
  std::vector<std::string> gone;
  Drop(silent_, terms_.most_silent, now_ms - terms_.forget_ms, gone);
  Drop(silent_kept_, terms_.most_silent_kept, now_ms - terms_.forget_kept_ms, gone);
  return gone;
}

}  // namespace mlc::server
