// Many workers in one thread: each with the agent, the connection and the session of a real one,
// but with trials that only take time. Thread-safe where it says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "base/rng.h"
#include "tests/bench/service_host.h"

namespace mlc::bench {

struct FleetOptions {
  int workers = 256;
  double results_per_second = 1000;  // of all workers together, at most
  int slots = 8;                     // trials held by a worker at most
  std::string target;                // full text
};

struct UidHash {
  size_t operator()(const Digest& uid) const { return uid.low; }
};

class ServiceWorkers {
 public:
  ServiceWorkers(const ServiceHost& host, FleetOptions options);
  ~ServiceWorkers();

  // Takes no more trials; returns when all that were begun are done and acknowledged, or after
  // `timeout_ms`: false.
  bool Drain(int64_t timeout_ms);

  // Since the last call of it. Milliseconds. Thread-safe.
  struct Seen {
    int64_t acknowledged = 0;
    int64_t calls = 0;
    int64_t failed_calls = 0;
    int64_t refused = 0;
    std::vector<double> acknowledge_ms;  // of each result: from the call that first reported it
    std::vector<double> gap_ms;          // of each trial: from the end of the one before
  };
  Seen Take();
  // How often each result was acknowledged. REQUIRES: drained.
  const std::unordered_map<Digest, int, UidHash>& acknowledged() const { return acknowledged_; }

 private:
  struct Worker;
  void Loop();
  void Call(Worker& worker);
  void Finished(Worker& worker);
  void RunTrials(Worker& worker, double now_ms);
  int64_t Advance(Worker& worker);

  const FleetOptions options_;
  Rng rng_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unordered_map<Digest, int, UidHash> acknowledged_;
  std::mutex mutex_;
  Seen seen_;
  std::atomic<bool> draining_ = false;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> left_ = 0;  // workers that have not finished draining
  int epoll_ = -1;
  std::thread thread_;
};

}  // namespace mlc::bench
