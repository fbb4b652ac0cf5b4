// The search of one task: its pool of candidates, what was measured of them, and which to try next.
// A portfolio of arms: seeds (defaults, earlier bests, bests of related
// workloads), best predictions of the model, of the prior model alone, neighbours of
// the incumbents, random ones; then coordinate descent around the incumbent. Deterministic; not
// thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/rng.h"
#include "db/confirmed_times.h"
#include "server/search/pool.h"
#include "server/search/shared_model.h"

namespace mlc::server {

// By family name; shared by all tasks of a search.
using SharedModels = std::map<std::string, SharedModel, std::less<>>;

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
  TaskSearch(std::unique_ptr<CandidateSource> source, SharedModels& models, Rng rng);

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
  bool lacks_default() const { return default_ >= 0 && default_ns_ == 0 && Free(default_); }
  // The leaders, to be measured again side by side: at most `most`, and none if the best one needs
  // no confirmation. Marks them as under way. See task_confirmation.cc.
  std::vector<Pick> NextGroup(size_t most);
  void Learn(const Pick& pick, Ending ending, double ns);

  // Expected relative gain of one more trial, 0 to 1.
  double ExpectedGain();
  // The same of all trials to come, at most. 1 while nothing was
  // measured.
  double Headroom();
  // Best known time, else the estimate of the prior config.
  double TimeOrEstimate() const { return best_ns_ > 0 ? best_ns_ : estimate_ns(); }
  // The best one without a trial, or -1, and the estimate of its time: from a similar workload if
  // it was transferred, else by the models.
  int prior_config() const { return prior_config_; }
  double estimate_ns() const;
  double best_ns() const { return best_ns_; }
  int best() const { return best_; }
  // Of the first default, as comparable to best_ns() as is known; 0 until measured.
  double default_ns() const;
  int64_t trials() const { return trials_; }

  // No correct kernel yet, none under way, and not given up.
  bool wants_first() const { return timed_.empty() && under_way() == 0 && trials_ < kFirstTries; }
  // The time of the prior config is predicted from a similar workload, and no trial has corrected
  // it.
  bool predicted() const { return expected_ns_ > 0 && trials_ == 0; }
  bool done() const { return done_; }
  // No correct kernel in as many tries as others wait for.
  bool given_up() const { return timed_.empty() && (done_ || trials_ >= kFirstTries); }
  const Pool& pool() const { return pool_; }

 private:
  struct Seed {
    int candidate;
    const char* arm;
  };
  // Means of what was measured of a candidate, alone and side by side with other leaders.
  struct Timed {
    db::ConfigTimes means;
    int singles = 0, confirmations = 0;
    void Add(double ns, bool confirms);
    bool confirmed() const { return confirmations > 0; }
    double mean() const { return confirmed() ? means.confirmed_ns : means.single_ns; }
    // What models learn from: single times of all candidates are alike.
    double single() const { return singles > 0 ? means.single_ns : means.confirmed_ns; }
  };

  // After so many failures a task competes like the others.
  static constexpr int64_t kFirstTries = 8;

  int64_t under_way() const { return static_cast<int64_t>(pending_.size()); }
  // What is known from earlier jobs counts half.
  double tries() const {
    return static_cast<double>(trials_ + under_way()) + 0.5 * static_cast<double>(known_);
  }
  SharedModel& ModelOf(size_t family) const;
  void OrderSeeds(bool informed, std::deque<Seed>& seeds);
  // Brings predictions up to date with the models and the pool.
  void Predict();
  void PredictRun(int begin, int end, int known);
  void FitOffsets();
  void Grow();
  double Score(int candidate) const;
  double PriorScore(int candidate) const;
  // Log time that the models, or the estimate of a transferred config, predict below what
  // was measured of the best; 0 without one. REQUIRES: Predict().
  double PredictedGain() const;
  bool Free(int candidate) const { return !tried_[static_cast<size_t>(candidate)]; }
  std::vector<int> Incumbents(size_t count) const;
  std::vector<int> Unconfirmed(size_t most) const;
  int BestPredicted(bool prior_alone);
  int BestNeighbour();
  int RandomOne();
  int Choose(const char*& arm);
  void Fill(Pick& pick, int candidate, const char* arm);
  void FindBest();
  void AddSample(int candidate, double ns, double weight);

  Pool pool_;
  SharedModels& models_;
  Rng rng_;
  std::deque<Seed> seeds_;
  std::vector<Seed> prior_configs_;  // until Start
  std::vector<char> tried_;
  std::set<int> pending_;
  std::map<int, Timed> timed_;
  std::map<int, int> repeats_;  // confirmations asked for
  double unconfirmed_factor_ = db::kLeastUnconfirmedFactor;
  int groups_ = 0;
  int confirming_ = 0;          // confirmations under way
  std::vector<float> prior_;    // corrections of log estimates
  std::vector<float> online_;   // both layers
  std::vector<double> offset_;  // by family: mean of log measured less predicted, shrunk
  int default_ = -1;
  int prior_config_ = -1;
  double expected_ns_ = 0;  // of the prior config, from a similar workload
  int best_ = -1;
  double best_ns_ = 0;
  double default_ns_ = 0;
  int64_t trials_ = 0;
  int64_t known_ = 0;
  int64_t choices_ = 0;
  int64_t stale_ = 0;              // results since the last improvement
  std::vector<int64_t> versions_;  // by family: of the models that predictions are from
  int64_t grown_at_ = 0;           // results when the pool last grew
  bool done_ = false;
};

}  // namespace mlc::server
