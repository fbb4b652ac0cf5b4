// What a task's search tries first: what earlier jobs found best, configs of similar workloads, and
// defaults. Not thread-safe.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "server/search/candidate_scores.h"
#include "server/search/candidate_times.h"
#include "server/search/tried_candidates.h"

namespace mlc::server {

// A candidate, and the literal that says why it is tried.
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

  // Puts them in order: `again`, then `first`, which is one of them; then by the scores if the
  // models are `informed`, else prior configs as they came and the defaults of other families. One
  // that is scored far behind the best of the `candidates` is left out, unless it is the first.
  struct Basis {
    const CandidateScores& scores;
    const CandidateTimes& times;
    int candidates;
    bool informed;
  };
  void Order(const std::vector<int>& again, int first, const Basis& basis);
  // The next one that is free.
  std::optional<Seed> Next(const TriedCandidates& tried);

 private:
  std::vector<Seed> defaults_;
  std::vector<Seed> prior_configs_;
  std::deque<Seed> order_;
};

}  // namespace mlc::server
