// The protocol state of a worker: which trials it holds, which results the server has not
// acknowledged, and when to call next. A pure state machine: no clock, no I/O, no threads; the
// caller passes the time in milliseconds of a steady clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "base/status.h"
#include "proto/worker.pb.h"
#include "worker/build/trial.h"

namespace mlc::worker {

struct AgentOptions {
  std::string name;
  std::string incarnation;  // new for each start of the process
  std::string build;
  std::string target;
  proto::Capabilities capabilities = {};
  int slots = 32;             // most trials held
  size_t most_unsent = 4096;  // most unsent results; beyond, it takes no more trials
  int64_t first_backoff_ms = 100;
  int64_t longest_backoff_ms = 5'000;
  uint64_t seed = 0;  // of the jitter, so that workers do not reconnect at the same time
};

class Agent {
 public:
  explicit Agent(AgentOptions options) : options_(std::move(options)), rng_(options_.seed) {}

  // Adds a result that an earlier process of this worker did not send.
  void Restore(TrialResult result);
  // The next call. Each call has the complete state: all trials held, and as many unacknowledged
  // results as fit into a message. The other results count as held trials.
  proto::SynchronizeRequest Request() const;

  struct Orders {
    std::vector<Trial> start;
    std::vector<Digest> cancel;
    std::vector<Digest> forget;  // results that the worker may delete
  };
  Orders OnReply(const proto::SynchronizeReply& reply, int64_t now_ms);
  // Handles a failed call. OK means that the agent backs off and retries; an error that no retry
  // can fix is returned.
  Status OnFailure(const Status& status, int64_t now_ms);
  // Adds the result of a trial. False if the trial was cancelled; the result is then dropped.
  bool OnResult(TrialResult result);
  // The server has work: the next call is due immediately.
  void Wake() { fresh_results_ = true; }
  void set_device_use(const proto::DeviceUse& use) { use_ = use; }
  // While a kernel is timed, calls are postponed unless a lease would expire.
  void set_measuring(bool measuring) { measuring_ = measuring; }
  // Takes no more trials, but finishes the held ones and sends their results.
  void Drain() { draining_ = true; }

  // The time of the next call; not later than `now_ms` if a call is due.
  int64_t NextCallMs() const;
  // True if the agent has drained: it holds no trial and has sent all results.
  bool done() const { return draining_ && holding_.empty() && spool_.empty(); }
  bool connected() const { return failures_ == 0; }
  size_t holding() const { return holding_.size(); }
  size_t unacknowledged() const { return spool_.size(); }
  const std::string& name() const { return options_.name; }
  const std::string& incarnation() const { return options_.incarnation; }

 private:
  int FreeCapacity() const;
  void Forget(const std::string& bytes, Orders& orders);

  AgentOptions options_;
  Rng rng_;
  uint64_t calls_ = 0;  // ended calls of this incarnation
  proto::DeviceUse use_;
  std::set<Digest> holding_;
  std::map<Digest, TrialResult> spool_;
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
