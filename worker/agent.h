// What a worker owes its server: which trials it holds, which results are not acknowledged yet,
// when to call next. A pure state machine: no clock, no I/O, no threads; time comes in as
// milliseconds of a steady clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/base/status.h"
#include "proto/worker.pb.h"
#include "worker/trial.h"

namespace mlc::worker {

struct AgentOptions {
  std::string name;
  std::string boot;  // new for each start of the process
  std::string build;
  std::string target;
  int slots = 32;  // trials held at most
  int64_t first_backoff_ms = 100;
  int64_t longest_backoff_ms = 5'000;
};

class Agent {
 public:
  explicit Agent(AgentOptions options) : options_(std::move(options)) {}

  // The next call. Every one tells all: what is held and what is not acknowledged.
  proto::SynchronizeRequest Request() const;

  struct Orders {
    std::vector<Trial> start;
    std::vector<Digest> cancel;
  };
  Orders OnReply(const proto::SynchronizeReply& reply, int64_t now_ms);
  // The call failed. An error that no retry mends comes back; OK means: backing off.
  Status OnFailure(const Status& status, int64_t now_ms);
  // A trial is done. Results of trials that were cancelled meanwhile are dropped.
  void OnResult(TrialResult result);
  // While a kernel is timed, calls wait unless a lease would be lost.
  void set_measuring(bool measuring) { measuring_ = measuring; }
  // Takes no more work; what is held is finished and sent.
  void Drain() { draining_ = true; }

  // When to call; at most `now_ms` if a call is due.
  int64_t NextCallMs() const;
  // Drained: everything is sent.
  bool done() const { return draining_ && holding_.empty() && spool_.empty(); }
  bool connected() const { return failures_ == 0; }
  size_t holding() const { return holding_.size(); }
  size_t unacknowledged() const { return spool_.size(); }

 private:
  int Want() const;

  AgentOptions options_;
  std::set<Digest> holding_;
  std::map<Digest, Measurement> spool_;
  bool fresh_results_ = true;  // the first call is due at once
  bool measuring_ = false;
  bool draining_ = false;
  int failures_ = 0;
  int64_t last_call_ms_ = 0;
  int64_t retry_ms_ = 0;
  int64_t poll_ms_ = 0;
  int64_t lease_ms_ = 30'000;
};

}  // namespace mlc::worker
