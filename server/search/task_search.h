// The search of one task: chooses the candidate to try next and predicts its gain. Its parts have
// the measured times, the predictions, the tried candidates, the seeds and the arms. Deterministic;
// not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/rng.h"
#include "server/search/candidate_arms.h"
#include "server/search/candidate_scores.h"
#include "server/search/candidate_times.h"
#include "server/search/expected_gain.h"
#include "server/search/pool.h"
#include "server/search/prediction_errors.h"
#include "server/search/task_seeds.h"
#include "server/search/tried_candidates.h"

namespace mlc::server {

struct Pick {
  int task = 0;
  int candidate = 0;
  int repeat = 0;
  int group = 0;  // see Proposal::group
  const char* arm = "";
  int64_t rank = 0;         // among the task's candidates not yet tried, by the model
  double predicted_ns = 0;  // 0 without a model
  // The time is within this factor of the predicted one with the probability of
  // prediction_errors.h; 0: unknown.
  double within_factor = 0;
  double early_stop_ns = 0;
};

// How a trial ended, as the search distinguishes it.
enum class Ending : uint8_t { kTimed, kTooSlow, kFailed, kNotMade };

class TaskSearch {
 public:
  // Borrows the models and the constants.
  TaskSearch(std::unique_ptr<CandidateSource> source, SharedModels& models,
             const SearchConstants& constants, Rng rng);
  TaskSearch(const TaskSearch&) = delete;
  TaskSearch& operator=(const TaskSearch&) = delete;

  // Adds a result of an earlier job for this workload. It does not count as a trial. Call it before
  // the first pick.
  void AddKnown(const PointRef& point, Ending ending, double ns, bool confirmed);
  // Adds a point to try early, in the order of the calls. `arm`: a string literal. `expected_ns`: 0
  // if unknown.
  void AddPriorConfig(const PointRef& point, const char* arm, double expected_ns);
  // Fills the pool and orders the seeds. `of_other_devices`: points that are fast for the same
  // workload there, best first.
  void Start(std::span<const PointRef> of_other_devices);

  // Picks the next candidate and marks it as in progress. False if the pool is exhausted.
  bool Next(Pick& pick);
  // Picks the first default if neither a trial nor an earlier job has measured it, because gains
  // are reported relative to it. Marks it as in progress.
  bool NextDefault(Pick& pick);
  bool lacks_default() const { return default_ >= 0 && default_ns_ == 0 && tried_.Free(default_); }
  // Picks at most `most` leaders for a measurement in one group, and marks them as in progress.
  // Empty if the best one needs no confirmation.
  std::vector<Pick> NextGroup(size_t most);
  void Learn(const Pick& pick, Ending ending, double ns);

  // Expected relative gain of one more trial, 0 to 1.
  double ExpectedGain();
  // Upper bound of the relative gain of all further trials; 1 until there is a measurement.
  double Headroom();
  // Best known time, else the estimate of the prior config.
  double TimeOrEstimate() const { return best_ns() > 0 ? best_ns() : estimate_ns(); }
  // The candidate to use without a trial, or -1, and its estimated time: from a similar workload if
  // it was transferred, else from the models.
  int prior_config() const { return prior_config_; }
  double estimate_ns() const;
  double best_ns() const { return times_.best_ns(); }
  int best() const { return times_.best(); }
  // The time of the first default, scaled to be comparable with best_ns(); 0 until measured.
  double default_ns() const;
  int64_t trials() const { return trials_; }

  // True if the task has no correct kernel, none in progress, and is not given up.
  bool wants_first() const {
    return times_.empty() && tried_.under_way().empty() && trials_ < kFirstTries;
  }
  // True if the time of the prior config is predicted from a similar workload and no trial has
  // corrected it.
  bool predicted() const { return expected_ns_ > 0 && trials_ == 0; }
  bool done() const { return done_; }
  // True if the task has no correct kernel after as many tries as other tasks wait for.
  bool given_up() const { return times_.empty() && (done_ || trials_ >= kFirstTries); }
  const Pool& pool() const { return pool_; }

 private:
  // After this many failures, a task competes like the others.
  static constexpr int64_t kFirstTries = 8;

  TaskCourse CourseNow();
  void Fill(Pick& pick, int candidate, const char* arm);

  const size_t sample_draws_;
  Pool pool_;
  Rng rng_;
  CandidateTimes times_;
  TriedCandidates tried_;
  CandidateScores scores_;
  CandidateArms arms_;
  TaskSeeds seeds_;
  PredictionErrors errors_;
  std::map<int, int> repeats_;  // confirmations asked for
  int groups_ = 0;
  int confirming_ = 0;  // confirmations under way
  int default_ = -1;
  int prior_config_ = -1;
  double expected_ns_ = 0;  // of the prior config, from a similar workload
  double default_ns_ = 0;
  int64_t trials_ = 0;
  int64_t known_ = 0;
  int64_t stale_ = 0;  // results since the last improvement
  bool done_ = false;
};

}  // namespace mlc::server
