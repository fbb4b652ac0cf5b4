// The workers known to the leases: which are in contact, until when, and what they can run. A pure
// state machine; the caller passes the time in milliseconds of a steady clock. Not thread-safe.
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

  // The worker of that name; adds it if it is unknown.
  Worker& Of(const std::string& name);
  // Null for an unknown worker.
  Worker* Find(const std::string& name);
  const Worker* Find(const std::string& name) const;
  // Sets the deadline of the worker: a worker in contact is lost if it does not call until then; a
  // lost worker is forgotten at that time.
  void SetDeadline(Worker& worker, int64_t deadline_ms);
  // A worker whose deadline has passed; null if there is none.
  Worker* Overdue(int64_t now_ms);
  void Erase(const Worker& worker);

  bool IsInContact(const std::string& name) const;
  // The number of workers of the class that are not lost.
  int CountOf(const std::string& target_class, int64_t now_ms) const;
  // The number of workers in contact that take trials of any job and meet the needs.
  int CountFor(const Needs& needs) const;
  bool Serve(const Needs& needs) const;
  // Whether a worker other than `but` could take the trial. Workers that were lost with it do not
  // count.
  bool OthersServe(const lease_state::Trial& trial, const Worker& but) const;
  // The leases of the worker: their number, and their trials.
  int64_t HeldBy(const std::string& name) const;
  std::vector<Digest> TrialsOf(const std::string& name) const;
  int64_t size() const { return static_cast<int64_t>(workers_.size()); }

 private:
  std::unordered_map<std::string, Worker> workers_;
  std::set<std::pair<int64_t, Worker*>> deadlines_;
};

}  // namespace mlc::server
