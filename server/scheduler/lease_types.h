// Parameters and results of Leases. Plain values. Times are in ms of a steady clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "server/scheduler/capability.h"

namespace mlc::server {

struct LeaseTerms {
  int64_t lease_ms = 30'000;
  int64_t disconnect_ms = 5'000;  // from a broken connection until the worker is lost
  int max_attempts = 3;           // most leases of a trial without a result
  int max_losses = 2;             // most workers that are lost while they hold a trial
};

// A trial to queue.
struct LeaseAsk {
  Digest uid;
  Digest job_id;
  Needs needs;
  std::string only;            // the only worker that may run it; the trial ends if it is lost
  std::string avoid;           // a worker that may not run it ...
  int64_t avoid_until_ms = 0;  // ... until this time
};

// One call of a worker.
struct LeaseContact {
  std::string worker;
  std::string incarnation;
  uint64_t sequence = 0;  // number of the call in the incarnation; 0: unknown, taken as newest
  Offer offer;
  std::vector<Digest> holding;
  int want = 0;
  bool trusted = true;       // false: it gets only trials for which it is the only worker
  bool draining = false;     // the worker takes no more trials
  bool quarantined = false;  // the worker may not keep trials that it holds without a lease
};

struct LeaseGrant {
  Digest uid;
  int attempt = 1;
};

// The device time that a result cost its job.
struct LeasePayment {
  Digest job_id;
  double device_s = 0;
};

// The answer to a call.
struct LeaseOrders {
  std::vector<LeaseGrant> grants;
  std::vector<Digest> cancelled;   // trials that the worker holds and is to drop
  std::vector<LeasePayment> paid;  // for results since the last payment
  bool stale = false;              // the call was outdated and changed nothing
};

// Invariant: issued == queued + leased + received + done + quarantined + dropped.
struct LeaseCounts {
  int64_t issued = 0, queued = 0, leased = 0, received = 0, done = 0, quarantined = 0, dropped = 0;
  int64_t granted = 0, lost = 0, retried = 0;  // leases; leases of lost workers; new attempts
};

// Trials in progress.
struct LeaseLoad {
  int64_t queued = 0, leased = 0;
};

}  // namespace mlc::server
