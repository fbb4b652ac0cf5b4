// The health of each worker: whether it must first pass a canary trial, whether it is in quarantine
// and why, and whether it drains. A pure state machine: time comes in as
// milliseconds of a steady clock. Not thread-safe.
//
//              canary passed
//   UNTESTED ----------------> READY --- many failures in a row, false results, two canaries
//      ^  ^                      |        failed, by admin ---> QUARANTINED
//      |  +---- restarted -------+                                 |
//      +---------- released by admin, or, after backoff, ----------+
//                     a canary passed (READY at once)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::server {

struct HealthTerms {
  bool canaries = false;                  // off: every worker is ready
  int64_t canary_every_ms = 15 * 60'000;  // of workers that are ready
  int max_canary_failures = 2;            // failed in a row
  int max_failures_in_a_row = 16;         // infrastructure failures, no result between them
  int max_bad_results = 2;                // refused, or contradicted by another worker
  int64_t first_backoff_ms = 30'000;      // from quarantine to the next canary; doubles
  int64_t longest_backoff_ms = 3'600'000;
};

class WorkerHealth {
 public:
  enum class State : uint8_t { kUntested, kReady, kQuarantined };

  explicit WorkerHealth(HealthTerms terms) : terms_(terms) {}

  // Every call of a worker. A new incarnation is untested, but a quarantine outlives a restart.
  void RecordContact(const std::string& worker, const std::string& incarnation, int64_t now_ms);
  // A canary trial is due, and none is under way.
  bool CanaryIsDue(const std::string& worker, int64_t now_ms) const;
  void CanarySent(const std::string& worker);
  // `outcome`: OK, or the error. True if the worker enters quarantine.
  bool CanaryEnded(const std::string& worker, const Status& outcome, int64_t now_ms);
  // The result was lost: the canary is due again.
  void CanaryLost(const std::string& worker);

  // True if the worker enters quarantine. No effect on unknown workers.
  bool RecordFailure(const std::string& worker, const std::string& why, int64_t now_ms);
  bool ReportBadResult(const std::string& worker, const std::string& why, int64_t now_ms);
  void RecordResult(const std::string& worker);

  // By an administrator: no passed canary ends it.
  void Quarantine(const std::string& worker, const std::string& why, int64_t now_ms);
  void Drain(const std::string& worker, const std::string& why);
  void Release(const std::string& worker);
  // What a hand did: why it is in quarantine, why the start `incarnation` of it is to leave; empty
  // for not.
  struct AdminHold {
    std::string quarantine;
    std::string drain;
    std::string incarnation;
  };
  AdminHold AdminHoldOf(const std::string& worker) const;
  // Restores a hold of an earlier server process, before the first call of the worker.
  void RestoreAdminHold(const std::string& worker, const AdminHold& hold);
  // Workers that an administrator put into quarantine.
  std::vector<std::string> HeldByAdmin() const;

  State StateOf(const std::string& worker) const;
  bool IsReady(const std::string& worker) const;
  bool Draining(const std::string& worker) const;
  struct Summary {
    State state = State::kUntested;
    std::string why;  // it is quarantined, or drains
    bool draining = false;
    bool known = false;
    int64_t canary_ms = -1;  // when one was passed
  };
  Summary SummaryOf(const std::string& worker) const;
  // It is in quarantine or drains.
  bool IsExcluded(const std::string& worker) const;
  int64_t size() const { return static_cast<int64_t>(workers_.size()); }
  // Forgets a worker, unless an administrator put it into quarantine.
  void Forget(const std::string& worker);

 private:
  struct Worker {
    std::string incarnation;
    State state = State::kUntested;
    std::string why;
    std::string drain_reason;  // why it drains
    bool draining = false;
    bool held_by_admin = false;
    bool canary_running = false;
    int canary_failures = 0;
    int failures = 0;
    int bad_results = 0;
    int64_t results = 0;
    int64_t passed_ms = -1;
    int64_t retry_ms = 0;
    int64_t backoff_ms = 0;
  };
  void EnterQuarantine(Worker& worker, const std::string& why, int64_t now_ms);
  const Worker* Find(const std::string& name) const;

  HealthTerms terms_;
  std::map<std::string, Worker> workers_;
};

}  // namespace mlc::server
