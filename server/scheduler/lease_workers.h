// The workers that leases know: who is in contact, until when, and what they can run. A pure state
// machine: time comes in as milliseconds of a steady clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/scheduler/capability.h"
#include "server/scheduler/lease_state.h"

namespace mlc::server {

class LeaseWorkers {
 public:
  using Worker = lease_state::Worker;

  // The worker of that name, new if it is not known.
  Worker& Of(const std::string& name);
  // Null if it is not known.
  Worker* Find(const std::string& name);
  const Worker* Find(const std::string& name) const;
  // What is to happen by then: a call, or the worker is lost; if it is lost, it is forgotten.
  void SetDeadline(Worker& worker, int64_t deadline_ms);
  // One whose deadline is over; null for none.
  Worker* Overdue(int64_t now_ms);
  void Erase(const Worker& worker);

  bool IsInContact(const std::string& name) const;
  // Those of the class that are not lost.
  int CountOf(const std::string& target_class, int64_t now_ms) const;
  // Those in contact that take trials of any job and can run such.
  int CountFor(const Needs& needs) const;
  bool Serve(const Needs& needs) const;
  // Whether another one than `but` could take the trial, of those that were not lost with it.
  bool OthersServe(const lease_state::Trial& trial, const Worker& but) const;
  // Leases of the worker: how many, and which trials.
  int64_t HeldBy(const std::string& name) const;
  std::vector<Digest> TrialsOf(const std::string& name) const;
  int64_t size() const { return static_cast<int64_t>(workers_.size()); }

 private:
  std::unordered_map<std::string, Worker> workers_;
  std::set<std::pair<int64_t, Worker*>> deadlines_;
};

}  // namespace mlc::server
