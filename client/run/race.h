// Times several libraries in turns with a first one, so that a machine whose speed changes does not
// decide. In each round a library runs just after the first one; what counts is the quotient of the
// two. Early stop: a library that is clearly slower takes part in no further round. Use it from one
// thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/run/run_report.h"

namespace mlc::client {

// Times that many consecutive runs of a library, in nanoseconds each.
using TimeRuns = std::function<Result<std::vector<double>>(int runs)>;

struct RaceOptions {
  double seconds = 0.2;  // of each library, at most; some rounds share them
  int least_runs = 1;    // of a library in a round, after one that warms its caches
};

struct Raced {
  LatencyStatistics latency;  // of all its runs
  double quotient = 1;        // of its time and that of the first; median over rounds
  int rounds = 0;
  std::string error;  // why it was not timed, or no longer; empty: it was
};

// The results of the first library and of all others, in their order. An error of the first one
// ends the race; one of another library is part of its result. REQUIRES: there is a first one.
Result<std::vector<Raced>> Race(std::span<const TimeRuns> libraries, const RaceOptions& options);

}  // namespace mlc::client
