// Who may run which trial until when: a pure state machine. No clock, no I/O, no threads: time
// comes in as milliseconds of a steady clock that never runs backwards. Not thread-safe.
//
// A trial is queued, leased, or received (its result is being committed), and gone when finished.
// Workers say with every call what they hold; a lease that its worker does not hold any more is
// queued again, as is one whose worker is silent past the deadline. Each of these costs an attempt;
// a trial out of attempts is given back to the caller as impossible. Studies share workers in turn.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/base/digest.h"

namespace mlc::server {

struct LeaseTerms {
  int64_t lease_ms = 30'000;
  int max_attempts = 3;
};

class Leases {
 public:
  explicit Leases(LeaseTerms terms) : terms_(terms) {}

  // Queues a trial for workers of a class. False if it is here already.
  bool Add(const Digest& uid, const Digest& study, const std::string& target_class);

  struct Contact {
    std::string worker;
    std::string boot;
    std::string target_class;
    std::vector<Digest> holding;
    int want = 0;
  };
  struct Grant {
    Digest uid;
    int attempt = 1;
  };
  struct Orders {
    std::vector<Grant> grants;
    std::vector<Digest> cancelled;  // of what the worker holds
  };
  // One call of a worker: renews what it holds, takes back what it lost, grants up to `want`. A
  // queued trial that the worker holds already (this side was restarted) becomes its lease.
  Orders Synchronize(const Contact& contact, int64_t now_ms);

  enum class Receipt : uint8_t { kFirst, kBeingCommitted, kUnknown };
  // A result arrived, from whomever. kFirst: commit it, then call Finish or, if that failed, Undo.
  Receipt Receive(const Digest& uid);
  void Finish(const Digest& uid);
  void Undo(const Digest& uid);
  // The worker could not make the trial. False if the attempts are used up: the trial is gone.
  bool Retry(const Digest& uid);

  // Queues trials of silent workers again and forgets workers long gone; returns the trials whose
  // attempts are used up.
  std::vector<Digest> Expire(int64_t now_ms);
  // Drops the study's queued trials and returns them; its leased ones may still finish.
  std::vector<Digest> DropQueued(const Digest& study);
  // Drops the study's leased trials, too: workers are told to stop them.
  std::vector<Digest> DropAll(const Digest& study);

  // Workers of the class in contact since `now_ms - lease_ms`.
  int WorkersOf(const std::string& target_class, int64_t now_ms) const;
  int64_t queued() const;
  int64_t leased() const;
  int64_t received() const;

 private:
  enum class State : uint8_t { kQueued, kLeased, kReceived };
  struct Trial {
    Digest study;
    std::string target_class;
    State state = State::kQueued;
    int attempt = 0;
    std::string worker;
  };
  struct Worker {
    std::string boot;
    std::string target_class;
    int64_t last_contact_ms = 0;
    std::set<Digest> leases;
  };
  struct Queue {
    Digest study;
    std::string target_class;
    std::deque<Digest> trials;
  };

  // Puts a leased trial back; false if its attempts are used up, and then it is gone.
  bool Requeue(const Digest& uid);
  void Release(const Digest& uid, Trial& trial);
  Queue& QueueOf(const Digest& study, const std::string& target_class);
  bool Adopt(const Digest& uid, const std::string& name, Worker& worker);
  void TakeBackLost(Worker& worker, const std::set<Digest>& holding);
  void GrantTo(const std::string& name, Worker& worker, int want, Orders& orders);

  LeaseTerms terms_;
  std::map<Digest, Trial> trials_;
  std::map<std::string, Worker> workers_;
  std::vector<Queue> queues_;
  size_t next_queue_ = 0;
  std::vector<Digest> exhausted_;
};

}  // namespace mlc::server
