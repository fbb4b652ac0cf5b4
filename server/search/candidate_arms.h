// Chooses the candidate of a task to try next: from a fixed mix of arms (best predictions of all
// models, best predictions of the prior models, neighbours of the fastest, random ones), then by
// coordinate descent around the fastest, then from the mix again. Deterministic; not thread-safe.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "server/search/candidate_scores.h"
#include "server/search/candidate_times.h"
#include "server/search/pool.h"
#include "server/search/tried_candidates.h"

namespace mlc::server {

class CandidateArms {
 public:
  // The parts of the task's search, borrowed.
  struct Parts {
    Pool& pool;
    const CandidateTimes& times;
    CandidateScores& scores;
    const TriedCandidates& tried;
    Rng& rng;
  };
  explicit CandidateArms(Parts parts)
      : pool_(parts.pool),
        times_(parts.times),
        scores_(parts.scores),
        tried_(parts.tried),
        rng_(parts.rng) {}

  // Adds candidates similar to the best measured and predicted ones. Grow adds them only if they
  // are due after `trials` results. Update the scores before and after.
  void Grow(int64_t trials);
  void GrowNow(int64_t trials);
  // Returns a free candidate and the arm that chose it; `stale` is the number of results since the
  // last improvement. kIllegal if no candidate promises a gain. REQUIRES: the scores are up to
  // date.
  int Choose(int64_t stale, const char*& arm);

 private:
  int BestPredicted(bool prior_alone);
  int BestNeighbour(int64_t stale);
  int RandomOne();

  Pool& pool_;
  const CandidateTimes& times_;
  CandidateScores& scores_;
  const TriedCandidates& tried_;
  Rng& rng_;
  int64_t choices_ = 0;
  int64_t grown_at_ = 0;  // results when the pool grows again
};

}  // namespace mlc::server
