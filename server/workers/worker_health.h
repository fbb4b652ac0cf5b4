// The health of each worker: whether it must first pass a canary, whether and why it is in
// quarantine, and whether it drains. A pure state machine; the caller passes the time in
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
  int max_failures_in_a_row = 16;         // failed trials without a result between them
  int max_bad_results = 2;                // refused, or contradicted by another worker
  int64_t first_backoff_ms = 30'000;      // from quarantine to the next canary; doubles
  int64_t longest_backoff_ms = 3'600'000;
};

class WorkerHealth {
 public:
  enum class State : uint8_t { kUntested, kReady, kQuarantined };

  explicit WorkerHealth(HealthTerms terms) : terms_(terms) {}

  // Records a call of the worker. A new incarnation is untested; a quarantine outlives a restart.
  void RecordContact(const std::string& worker, const std::string& incarnation, int64_t now_ms);
  // True if a canary is due and none is in progress.
  bool CanaryIsDue(const std::string& worker, int64_t now_ms) const;
  void CanarySent(const std::string& worker);
  // `outcome`: OK, or why the canary failed. True if the worker enters quarantine.
  bool CanaryEnded(const std::string& worker, const Status& outcome, int64_t now_ms);
  // The result of the canary was lost, so it is due again.
  void CanaryLost(const std::string& worker);

  // True if the worker enters quarantine. No effect on unknown workers.
  bool RecordFailure(const std::string& worker, const std::string& why, int64_t now_ms);
  bool ReportBadResult(const std::string& worker, const std::string& why, int64_t now_ms);
  void RecordResult(const std::string& worker);

  // Quarantine by an administrator; a passed canary does not end it.
  void Quarantine(const std::string& worker, const std::string& why, int64_t now_ms);
  void Drain(const std::string& worker, const std::string& why);
  void Release(const std::string& worker);
  // The hold of an administrator: the reason of the quarantine, or the reason to drain and the
  // incarnation that is to leave. Empty strings: no hold.
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
    std::string why;  // reason of the quarantine or drain
    bool draining = false;
    bool known = false;
    int64_t canary_ms = -1;  // time of the last passed canary
  };
  Summary SummaryOf(const std::string& worker) const;
  // True if the worker is in quarantine or drains.
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
