#include "server/scheduler/lease_workers.h"

#include <algorithm>

namespace mlc::server {
namespace {

// In contact, and takes trials of any job that need that.
bool Serves(const lease_state::Worker& worker, const Needs& needs) {
  return worker.alive && worker.eligible && worker.offer.Meets(needs);
}

}  // namespace

LeaseWorkers::Worker& LeaseWorkers::Of(const std::string& name) {
  Worker& worker = workers_[name];
  worker.name = name;
  return worker;
}

LeaseWorkers::Worker* LeaseWorkers::Find(const std::string& name) {
  const auto found = workers_.find(name);
  return found == workers_.end() ? nullptr : &found->second;
}

const LeaseWorkers::Worker* LeaseWorkers::Find(const std::string& name) const {
  const auto found = workers_.find(name);
  return found == workers_.end() ? nullptr : &found->second;
}

void LeaseWorkers::SetDeadline(Worker& worker, int64_t deadline_ms) {
  deadlines_.erase({worker.deadline_ms, &worker});
  worker.deadline_ms = deadline_ms;
  deadlines_.insert({deadline_ms, &worker});
}

LeaseWorkers::Worker* LeaseWorkers::Overdue(int64_t now_ms) {
  if (deadlines_.empty() || deadlines_.begin()->first >= now_ms) return nullptr;
  return deadlines_.begin()->second;
}

void LeaseWorkers::Erase(const Worker& worker) {
  const auto found = workers_.find(worker.name);
  deadlines_.erase({worker.deadline_ms, &found->second});
  workers_.erase(found);
}

bool LeaseWorkers::IsInContact(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker != nullptr && worker->alive;
}

int LeaseWorkers::CountOf(const std::string& target_class, int64_t now_ms) const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& worker = entry.second;
    return worker.alive && worker.deadline_ms >= now_ms &&
           worker.offer.target_class == target_class;
  }));
}

int LeaseWorkers::CountFor(const Needs& needs) const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return Serves(entry.second, needs);
  }));
}

bool LeaseWorkers::Serve(const Needs& needs) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const auto& entry) { return Serves(entry.second, needs); });
}

bool LeaseWorkers::OthersServe(const lease_state::Trial& trial, const Worker& but) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    const Worker& other = entry.second;
    return &other != &but && !trial.lost.contains(other.name) && Serves(other, trial.queue->needs);
  });
}

int64_t LeaseWorkers::HeldBy(const std::string& name) const {
  const Worker* worker = Find(name);
  return worker == nullptr ? 0 : static_cast<int64_t>(worker->leases.size());
}

std::vector<Digest> LeaseWorkers::TrialsOf(const std::string& name) const {
  const Worker* worker = Find(name);
  if (worker == nullptr) return {};
  return {worker->leases.begin(), worker->leases.end()};
}

}  // namespace mlc::server
