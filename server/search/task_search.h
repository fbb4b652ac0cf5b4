// The search of one task: which candidate to try next, and what is to be gained by it. Its parts
// hold what was measured, what is predicted, what was tried, the seeds and the arms. Deterministic;
// not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "server/search/candidate_arms.h"
#include "server/search/candidate_scores.h"
#include "server/search/candidate_times.h"
#include "server/search/expected_gain.h"
#include "server/search/pool.h"
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
  double early_stop_ns = 0;
};

// How a trial ended, for the search.
enum class Ending : uint8_t { kTimed, kTooSlow, kFailed, kNotMade };

class TaskSearch {
 public:
  // Borrows the models.
  TaskSearch(std::unique_ptr<CandidateSource> source, SharedModels& models, Rng rng);
  TaskSearch(const TaskSearch&) = delete;
  TaskSearch& operator=(const TaskSearch&) = delete;

  // Before the first pick. An earlier result of this very task: no trial, but known.
  void AddKnown(const PointRef& point, Ending ending, double ns, bool confirmed);
  // A point to try early; the first one added is tried first. `arm` is a literal. `expected_ns`: 0
  // if unknown.
  void AddPriorConfig(const PointRef& point, const char* arm, double expected_ns);
  // Fills the pool and puts the seeds in order.
  void Start();

  // Nothing if the pool is exhausted. Marks the pick as under way.
  bool Next(Pick& pick);
  // The first default, where no trial and no earlier job has measured it: what a gain is reported
  // against. Marks it as under way.
  bool NextDefault(Pick& pick);
  bool lacks_default() const { return default_ >= 0 && default_ns_ == 0 && tried_.Free(default_); }
  // The leaders, to be measured again side by side: at most `most`, and none if the best one needs
  // no confirmation. Marks them as under way.
  std::vector<Pick> NextGroup(size_t most);
  void Learn(const Pick& pick, Ending ending, double ns);

  // Expected relative gain of one more trial, 0 to 1.
  double ExpectedGain();
  // The same of all trials to come, at most. 1 while nothing was measured.
  double Headroom();
  // Best known time, else the estimate of the prior config.
  double TimeOrEstimate() const { return best_ns() > 0 ? best_ns() : estimate_ns(); }
  // The best one without a trial, or -1, and the estimate of its time: from a similar workload if
  // it was transferred, else by the models.
  int prior_config() const { return prior_config_; }
  double estimate_ns() const;
  double best_ns() const { return times_.best_ns(); }
  int best() const { return times_.best(); }
  // Of the first default, as comparable to best_ns() as is known; 0 until measured.
  double default_ns() const;
  int64_t trials() const { return trials_; }

  // No correct kernel yet, none under way, and not given up.
  bool wants_first() const {
    return times_.empty() && tried_.under_way().empty() && trials_ < kFirstTries;
  }
  // The time of the prior config is predicted from a similar workload, and no trial has corrected
  // it.
  bool predicted() const { return expected_ns_ > 0 && trials_ == 0; }
  bool done() const { return done_; }
  // No correct kernel in as many tries as others wait for.
  bool given_up() const { return times_.empty() && (done_ || trials_ >= kFirstTries); }
  const Pool& pool() const { return pool_; }

 private:
  // After so many failures a task competes like the others.
  static constexpr int64_t kFirstTries = 8;

  TaskCourse CourseNow();
  void Fill(Pick& pick, int candidate, const char* arm);

  Pool pool_;
  Rng rng_;
  CandidateTimes times_;
  TriedCandidates tried_;
  CandidateScores scores_;
  CandidateArms arms_;
  TaskSeeds seeds_;
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
