// What the server thinks of its workers: who has to show with a canary trial that it can measure,
// who is kept from work and why, who is to leave. A pure state machine: time comes in as
// milliseconds of a steady clock. Not thread-safe.
//
//              canary passed
//   UNTESTED ----------------> READY --- many failures in a row, false results, two canaries
//      ^  ^                      |        failed, by hand ---> QUARANTINED
//      |  +---- restarted -------+                                 |
//      +---------- released by hand, or, after a while, ----------+
//                     a canary passed (READY at once)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace mlc::server {

struct StandingTerms {
  bool canaries = false;                  // off: everybody is ready
  int64_t canary_every_ms = 15 * 60'000;  // of workers that are ready
  int canary_tries = 2;                   // failed in a row
  int failures_in_a_row = 16;             // infrastructure failures, no result between them
  int false_results = 2;                  // refused, or contradicted by another worker
  int64_t first_backoff_ms = 30'000;      // from quarantine to the next canary; doubles
  int64_t longest_backoff_ms = 3'600'000;
};

class Standings {
 public:
  enum class State : uint8_t { kUntested, kReady, kQuarantined };

  explicit Standings(StandingTerms terms) : terms_(terms) {}

  // Every call of a worker. A new incarnation is untested, but a quarantine outlives a restart.
  void Met(const std::string& worker, const std::string& incarnation, int64_t now_ms);
  // A canary trial is due, and none is under way.
  bool WantsCanary(const std::string& worker, int64_t now_ms) const;
  void CanarySent(const std::string& worker);
  // OK, or what was wrong with it. True if that put the worker into quarantine.
  bool CanaryEnded(const std::string& worker, const Status& verdict, int64_t now_ms);
  // Nobody knows: it is due again.
  void CanaryLost(const std::string& worker);

  // True if that put the worker into quarantine. What is said of one that is forgotten is lost.
  bool Failed(const std::string& worker, const std::string& why, int64_t now_ms);
  bool ToldFalsely(const std::string& worker, const std::string& why, int64_t now_ms);
  void Delivered(const std::string& worker);

  // By hand: no canary ends it.
  void Quarantine(const std::string& worker, const std::string& why, int64_t now_ms);
  void Drain(const std::string& worker, const std::string& why);
  void Release(const std::string& worker);
  // What a hand did: why it is in quarantine, why the start `incarnation` of it is to leave; empty
  // for not.
  struct Hold {
    std::string quarantine;
    std::string drain;
    std::string incarnation;
  };
  Hold HoldOf(const std::string& worker) const;
  // As a hand left it, before anything was heard of the worker.
  void Restore(const std::string& worker, const Hold& hold);
  // Those in quarantine by hand.
  std::vector<std::string> Held() const;

  State StateOf(const std::string& worker) const;
  bool MayWork(const std::string& worker) const;
  bool Draining(const std::string& worker) const;
  struct Line {
    State state = State::kUntested;
    std::string why;  // it is quarantined, or to leave
    bool draining = false;
    bool known = false;
    int64_t canary_ms = -1;  // when one was passed
  };
  Line LineOf(const std::string& worker) const;
  // It gets no work, or is to leave.
  bool IsKept(const std::string& worker) const;
  int64_t size() const { return static_cast<int64_t>(workers_.size()); }
  // Nobody has heard of it for long: forgets it, unless it is quarantined by hand.
  void Forget(const std::string& worker);

 private:
  struct Worker {
    std::string incarnation;
    State state = State::kUntested;
    std::string why;
    std::string leaves;  // why it is to leave
    bool draining = false;
    bool by_hand = false;
    bool testing = false;
    int tries = 0;
    int failures = 0;
    int lies = 0;
    int64_t delivered = 0;
    int64_t passed_ms = -1;
    int64_t retry_ms = 0;
    int64_t backoff_ms = 0;
  };
  void Isolate(Worker& worker, const std::string& why, int64_t now_ms);
  const Worker* Find(const std::string& name) const;

  StandingTerms terms_;
  std::map<std::string, Worker> workers_;
};

}  // namespace mlc::server
