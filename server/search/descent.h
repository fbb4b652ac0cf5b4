// A coordinate descent that starts away from the fastest candidates and looks only at what it has
// measured itself, so that a search leaves a region where it is stuck. When it is stuck itself, it
// starts again elsewhere. Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.h"
#include "server/search/candidate_scores.h"
#include "server/search/candidate_times.h"
#include "server/search/pool.h"
#include "server/search/tried_candidates.h"

namespace mlc::server {

class Descent {
 public:
  // Parts of the task's search, borrowed.
  struct Parts {
    Pool& pool;
    const CandidateTimes& times;
    CandidateScores& scores;
    const TriedCandidates& tried;
    Rng& rng;
  };
  explicit Descent(Parts parts) : parts_(parts) {}

  // The next candidate, which is free; kIllegal while the start has no result, or if none is left.
  // Models of this job's results choose among neighbours.
  int Next();

 private:
  double ScoreOf(int candidate) const;
  int Start();
  int BestNeighbour(int centre);

  Parts parts_;
  std::vector<int> members_;  // of this descent, the start first
  double best_ns_ = 0;        // of them
  int64_t stale_ = 0;         // members since the last improvement
};

}  // namespace mlc::server
