// What a worker owes its server: which trials it holds, which results are not acknowledged yet,
// when to call next. A pure state machine: no clock, no I/O, no threads; time comes in as
// milliseconds of a steady clock. Not thread-safe.
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
  int slots = 32;             // trials held at most
  size_t most_unsent = 4096;  // results; with more, no more trials are taken
  int64_t first_backoff_ms = 100;
  int64_t longest_backoff_ms = 5'000;
  uint64_t seed = 0;  // of the jitter: workers that lost one server do not come back together
};

class Agent {
 public:
  explicit Agent(AgentOptions options) : options_(std::move(options)), rng_(options_.seed) {}

  // A result that an earlier process of this worker left unsent.
  void Restore(TrialResult result);
  // The next call. Every one tells all: what is held, and of what is not acknowledged as much as a
  // message takes; the rest counts as held.
  proto::SynchronizeRequest Request() const;

  struct Orders {
    std::vector<Trial> start;
    std::vector<Digest> cancel;
    std::vector<Digest> forget;  // results that need not be kept any more
  };
  Orders OnReply(const proto::SynchronizeReply& reply, int64_t now_ms);
  // The call failed. An error that no retry mends comes back; OK means: backing off.
  Status OnFailure(const Status& status, int64_t now_ms);
  // A trial is done. False if it was cancelled meanwhile: its result is dropped.
  bool OnResult(TrialResult result);
  // The server has news: it is called at once.
  void Wake() { fresh_results_ = true; }
  void set_device_use(const proto::DeviceUse& use) { use_ = use; }
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
  const std::string& name() const { return options_.name; }
  const std::string& incarnation() const { return options_.incarnation; }

 private:
  int FreeCapacity() const;
  void Forget(const std::string& bytes, Orders& orders);

  AgentOptions options_;
  Rng rng_;
  uint64_t calls_ = 0;  // of this incarnation, ended
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
