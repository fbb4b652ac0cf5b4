// The workers that the server remembers. Worker names never repeat (pods, batch jobs),
// so the server drops the state of a worker when the roster evicts its name. Names in contact are
// bounded, in all and for each owner (whom a certificate or a token stands for); silent ones are
// forgotten after a while, and beyond a number at once, those silent longest first. Those that are
// kept from work (in quarantine, or draining) are remembered longer and apart from the others, so
// that a flood of new names does not erase a quarantine. A pure state machine: time comes in as
// milliseconds of a steady clock. Not thread-safe.
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
  int64_t max_live = 20'000;     // in contact at the same time
  int64_t max_of_owner = 4'096;  // of them, of one owner
  int64_t max_silent = 2'000;
  int64_t max_silent_excluded = 2'000;                // silent ones that are kept from work
  int64_t forget_ms = 24 * 3'600'000LL;               // of silence
  int64_t forget_excluded_ms = 7 * 24 * 3'600'000LL;  // of those that are kept from work
};

class WorkerRoster {
 public:
  // `away_ms`: a worker that has not called for longer is no longer in contact.
  WorkerRoster(RosterTerms terms, int64_t away_ms) : terms_(terms), away_ms_(away_ms) {}

  // The worker calls, and is in contact from now on. RESOURCE_EXHAUSTED if it was not, and there
  // are as many as may be: nothing has changed then.
  Status RecordContact(const std::string& worker, const std::string& owner, int64_t now_ms);
  // Those that are forgotten now; the caller forgets what it knows of them. `is_excluded`: whether
  // a worker is kept from work; asked once, when it falls silent.
  std::vector<std::string> Forget(const std::function<bool(const std::string&)>& is_excluded,
                                  int64_t now_ms);

  // In contact as of the last call, and remembered.
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
