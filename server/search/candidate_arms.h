// Which candidate of a task to try next: a fixed mix of arms (best predictions of the models, of
// the prior models alone, neighbours of the fastest, random ones), then coordinate descent around
// the fastest, then restarts: descents from elsewhere that do not look at the fastest. Knowledge of
// earlier jobs is trusted as long as it finds improvements. Deterministic; not thread-safe.
#pragma once

#include <cstdint>

#include "base/rng.h"
#include "server/search/candidate_scores.h"
#include "server/search/candidate_times.h"
#include "server/search/descent.h"
#include "server/search/pool.h"
#include "server/search/search_constants.h"
#include "server/search/tried_candidates.h"

namespace mlc::server {

class CandidateArms {
 public:
  // Parts of the task's search, borrowed.
  struct Parts {
    Pool& pool;
    const CandidateTimes& times;
    CandidateScores& scores;
    const TriedCandidates& tried;
    Rng& rng;
    const SearchConstants& constants;
  };
  explicit CandidateArms(Parts parts)
      : pool_(parts.pool),
        times_(parts.times),
        scores_(parts.scores),
        tried_(parts.tried),
        rng_(parts.rng),
        constants_(parts.constants),
        restart_({parts.pool, parts.times, parts.scores, parts.tried, parts.rng}) {}

  // Adds candidates like the best ones, measured and predicted, after `trials` results: if it is
  // due, or now. Scores have to be brought up to date before and after.
  void Grow(int64_t trials);
  void GrowNow(int64_t trials);
  // A candidate that is free, and the arm that chose it, after `stale` results without an
  // improvement. kIllegal if nothing promises more. REQUIRES: scores are up to date.
  int Choose(int64_t stale, const char*& arm);

 private:
  using Basis = CandidateScores::Basis;
  // What the models that choose rest on. Knowledge of earlier jobs earns its share by improvements.
  Basis BasisOf(bool prior, int64_t stale) const;
  int BestPredicted(Basis basis);
  int BestNeighbour(int64_t stale, Basis basis);
  int RandomOne();

  Pool& pool_;
  const CandidateTimes& times_;
  CandidateScores& scores_;
  const TriedCandidates& tried_;
  Rng& rng_;
  const SearchConstants& constants_;
  Descent restart_;
  int64_t choices_ = 0;
  int64_t grown_at_ = 0;  // results when the pool grows again
};

}  // namespace mlc::server
