// The sizes of the tuner's tables, for tests and benchmarks. What is connected and in progress
// bounds each of them, not the history of the server. A value.
#pragma once

#include <cstdint>

namespace mlc::server {

struct TunerCounts {
  // Tables of workers.
  int64_t names = 0;       // on the roster
  int64_t live_names = 0;  // in contact
  int64_t workers = 0;
  int64_t health = 0;
  int64_t lease_workers = 0;  // known to the leases
  int64_t idle = 0;
  int64_t classes = 0;  // of targets
  int64_t checks = 0;
  int64_t sessions = 0;
  // Tables of jobs.
  int64_t jobs = 0;    // running or recently ended
  int64_t trials = 0;  // between proposal and commit
  int64_t shares = 0;  // jobs, users and classes that the shares know
};

}  // namespace mlc::server
