// What goes into Leases and what comes out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "server/scheduler/capability.h"

namespace mlc::server {

struct LeaseTerms {
  int64_t lease_ms = 30'000;
  int64_t disconnect_ms = 5'000;  // a worker whose connection broke is lost after this
  int max_attempts = 3;           // leases of a trial that end without a result
  int max_losses = 2;             // different workers lost with a trial
};

// A trial to be queued.
struct LeaseAsk {
  Digest uid;
  Digest job_id;
  Needs needs;
  std::string only;            // for this worker alone; gone when the worker is lost
  std::string avoid;           // for another one than this ...
  int64_t avoid_until_ms = 0;  // ... until then
};

// One call of a worker.
struct LeaseContact {
  std::string worker;
  std::string incarnation;
  uint64_t sequence = 0;  // of the incarnation's calls; 0: unknown, taken as the newest
  Offer offer;
  std::vector<Digest> holding;
  int want = 0;
  bool trusted = true;       // false: it gets trials that are for it alone
  bool draining = false;     // it takes no more trials
  bool quarantined = false;  // nor does it keep what it holds without a lease
};

struct LeaseGrant {
  Digest uid;
  int attempt = 1;
};

// What a result cost the job that it was made for.
struct LeasePayment {
  Digest job_id;
  double device_s = 0;
};

// The answer to a call.
struct LeaseOrders {
  std::vector<LeaseGrant> grants;
  std::vector<Digest> cancelled;   // of what the worker holds
  std::vector<LeasePayment> paid;  // for results since the last payment
  bool stale = false;              // an old call that came late: nothing changed
};

// issued == queued + leased + received + done + quarantined + dropped, always.
struct LeaseCounts {
  int64_t issued = 0, queued = 0, leased = 0, received = 0, done = 0, quarantined = 0, dropped = 0;
  int64_t granted = 0, lost = 0, retried = 0;  // leases, those of lost workers, new attempts
};

// Trials under way.
struct LeaseLoad {
  int64_t queued = 0, leased = 0;
};

}  // namespace mlc::server
