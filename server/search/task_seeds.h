// The candidates that a task's search tries first: the best ones of earlier jobs, configs of
// similar workloads, and defaults. Not thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "server/search/candidate_scores.h"
#include "server/search/candidate_times.h"
#include "server/search/tried_candidates.h"

namespace mlc::server {

// A candidate and the arm that it counts for, a string literal.
struct Seed {
  int candidate;
  const char* arm;
};

class TaskSeeds {
 public:
  void AddDefault(int candidate) { defaults_.push_back({candidate, "default"}); }
  void AddPriorConfig(int candidate, const char* arm) {
    prior_configs_.push_back({candidate, arm});
  }

  // A fast config of the same workload on another device. Models do not judge it: rows of several
  // devices differ in level, and a config that was fast there is the surest part of their logs.
  void AddOfOtherDevice(int candidate) { of_other_devices_.push_back({candidate, "transfer"}); }

  // Orders the seeds: `again`, then `first`, which is one of the seeds, then those of other devices
  // in the order of their addition. If the models are `informed`, the others follow by score; else
  // the prior configs follow in the order of their addition, then the defaults of other families.
  // It leaves out a seed whose score is far behind the best of the `candidates`, unless it is
  // `first` or of another device.
  struct Basis {
    const CandidateScores& scores;
    const CandidateTimes& times;
    int candidates;
    bool informed;
  };
  void Order(const std::vector<int>& again, int first, const Basis& basis);
  // The next seed that is free.
  std::optional<Seed> Next(const TriedCandidates& tried);

 private:
  std::vector<Seed> defaults_;
  std::vector<Seed> prior_configs_;
  std::vector<Seed> of_other_devices_;
  std::deque<Seed> order_;
};

}  // namespace mlc::server
