// The call of a worker, the answer of the server, and the list of workers. Plain values; server/api
// converts them from and to messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/measurement.h"

namespace mlc::server {

// What a worker can run. A trial that needs more goes to another worker.
struct Capabilities {
  int64_t memory_bytes = 0;          // for the tensors of a trial; 0: not reported
  std::vector<std::string> kernels;  // families that it builds, "contraction/3"; empty: all
  // Versions of its compilers and drivers, and its precisions, for display.
  std::string llvm;
  std::string nvrtc;
  std::string driver;
  std::vector<std::string> precisions;
  int32_t devices = 0;  // that run trials in parallel; 0: not reported, taken as one
};

// The use of a worker's devices since its start, in seconds, summed over the devices.
struct DeviceUse {
  double trial_s = 0;  // time with trials for the devices
  double busy_s = 0;   // part of it in which the devices ran kernels of trials
};

struct FinishedTrial {
  Digest uid;
  Measurement measurement;
  std::optional<double> device_s;  // device time that it cost, if the worker reports it
};

struct WorkerCall {
  std::string worker;       // its stable name
  std::string incarnation;  // new for each start of the process
  std::string build;        // build id of its compiler
  std::string target;       // full text
  int32_t want = 0;         // the number of leases that it can take now
  std::vector<Digest> holding;
  std::vector<FinishedTrial> finished;  // results without an acknowledgement
  bool draining = false;                // takes no more work
  uint64_t sequence = 0;                // number of the call in the incarnation; 0: not counted
  Capabilities capabilities;
  DeviceUse use;
};

// The right to run one trial.
struct LeasedTrial {
  Digest uid;
  std::string workload;
  std::string config;
  uint64_t seed = 0;
  double early_stop_ns = 0;  // 0: no limit
  int32_t attempt = 1;
  int64_t lease_ms = 0;
};

struct RefusedResult {
  Digest uid;
  std::string reason;
};

// The answer to a WorkerCall.
struct WorkerOrders {
  std::vector<Digest> acknowledged;    // results that the log holds
  std::vector<RefusedResult> refused;  // results that the server will never accept
  std::vector<LeasedTrial> leases;
  std::vector<Digest> cancelled;  // trials whose results are not needed
  int64_t next_poll_ms = 0;
  bool drain = false;
  std::string timing_lock;  // a file on the server's host; empty: none
  bool stale = false;       // the server has seen a newer process of this name, or a later call
};

// The numbers are those of proto::WorkerState.
enum class WorkerState : uint8_t {
  kUntested = 0,  // gets its canary trial first
  kReady = 1,
  kQuarantined = 2,  // gets only canary trials
  kDraining = 3,     // takes no more trials
  kOffline = 4,      // has not called for longer than a lease lasts
};

// One worker in a list.
struct WorkerLine {
  std::string worker;
  WorkerState state = WorkerState::kUntested;
  std::string reason;  // of the quarantine or drain
  std::string target;
  std::string build;
  Capabilities capabilities;
  int64_t holding = 0;
  int64_t results = 0;
  int64_t failures = 0;
  int64_t refused = 0;
  int64_t silent_ms = 0;
  int64_t canary_age_ms = -1;  // since the last passed canary; -1: none
};

}  // namespace mlc::server
