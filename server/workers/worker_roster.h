// The workers that the server remembers. Worker names never repeat (pods, batch jobs), so the
// server drops the state of a worker when the roster evicts its name. The number of workers in
// contact is bounded, in total and per owner (the identity of a certificate or token). A silent
// worker is forgotten after `forget_ms`, or earlier if there are too many silent workers: longest
// silence first. Excluded workers (in quarantine or draining) are remembered longer and counted
// separately, so that a flood of new names does not erase a quarantine. A pure state machine; the
// caller passes the time in milliseconds of a steady clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace mlc::server {

struct RosterTerms {
  int64_t max_live = 20'000;     // most workers in contact
  int64_t max_of_owner = 4'096;  // most workers of one owner in contact
  int64_t max_silent = 2'000;
  int64_t max_silent_excluded = 2'000;                // silent excluded workers
  int64_t forget_ms = 24 * 3'600'000LL;               // silence until a worker is forgotten
  int64_t forget_excluded_ms = 7 * 24 * 3'600'000LL;  // the same for excluded workers
};

class WorkerRoster {
 public:
  // `away_ms`: a worker that has not called for longer is no longer in contact.
  WorkerRoster(RosterTerms terms, int64_t away_ms) : terms_(terms), away_ms_(away_ms) {}

  // Records a call: the worker is in contact. RESOURCE_EXHAUSTED, without a change, if it was not
  // in contact and the limit is reached.
  Status RecordContact(const std::string& worker, const std::string& owner, int64_t now_ms);
  // The workers to forget now; the caller drops their state. `is_excluded`: whether a worker is in
  // quarantine or draining; called once, when the worker falls silent.
  std::vector<std::string> Forget(const std::function<bool(const std::string&)>& is_excluded,
                                  int64_t now_ms);

  // The numbers of workers in contact, as of the last call, and of remembered ones.
  int64_t live() const { return static_cast<int64_t>(live_.size()); }
  int64_t size() const { return static_cast<int64_t>(workers_.size()); }

 private:
  using ByTime = std::set<std::pair<int64_t, std::string>>;  // of the last call
  struct Worker {
    std::string owner;
    int64_t called_ms = 0;
    ByTime* place = nullptr;
  };

  // Moves workers that stopped calling to the silent ones.
  void DemoteSilent(const std::function<bool(const std::string&)>& is_excluded, int64_t now_ms);
  void Unlink(const std::string& worker, Worker& entry);
  void Evict(ByTime& silent, int64_t most, int64_t before_ms, std::vector<std::string>& gone);
  Status Admit(const std::string& worker, const std::string& owner) const;

  RosterTerms terms_;
  int64_t away_ms_;
  std::map<std::string, Worker> workers_;
  ByTime live_;
  ByTime silent_;
  ByTime silent_excluded_;
  std::map<std::string, int64_t> live_of_;  // by owner; no zeros
};

}  // namespace mlc::server
