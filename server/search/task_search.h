// The search of one task: its pool of candidates, what was measured of them, and which to try next.
// A portfolio of arms, none trusted alone: seeds (defaults, earlier bests, bests of related
// workloads), favourites of the model, favourites of earlier jobs' knowledge alone, neighbours of
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

#include "compiler/base/rng.h"
#include "server/search/pool.h"
#include "server/search/shared_model.h"

namespace mlc::server {

// By family name; shared by all tasks of a search.
using SharedModels = std::map<std::string, SharedModel, std::less<>>;

struct Pick {
  int task = 0;
  int candidate = 0;
  int repeat = 0;
  const char* arm = "";
  int64_t rank = 0;         // among the task's candidates not yet tried, by the model
  double predicted_ns = 0;  // 0 without a model
  double race_ns = 0;
};

// How a trial ended, for the search.
enum class Ending : uint8_t { kTimed, kTooSlow, kFailed, kNotMade };

class TaskSearch {
 public:
  TaskSearch(std::unique_ptr<CandidateSource> source, SharedModels& models, Rng rng);

  // Before the first pick. An earlier result of this very task: no trial, but known.
  void AddKnown(const PointRef& point, Ending ending, double ns);
  // A point to try early. `arm` is a literal.
  void AddSeed(const PointRef& point, const char* arm);
  // Fills the pool and puts the seeds in order.
  void Start();

  // Nothing if the pool is exhausted. Marks the pick as under way.
  bool Next(Pick& pick);
  // A candidate of the first three to measure again, at most once each; false if there is none.
  bool NextRepeat(Pick& pick);
  void Learn(const Pick& pick, Ending ending, double ns);

  // Expected relative gain of one more trial, 0 to 1.
  double ExpectedGain();
  // Best known time, else the estimate of the first seed.
  double TimeOrEstimate() const;
  double best_ns() const { return best_ns_; }
  int best() const { return best_; }
  double default_ns() const { return default_ns_; }
  int64_t trials() const { return trials_; }

  bool started() const { return trials_ + under_way() > 0 || !timed_.empty(); }
  bool done() const { return done_; }
  const Pool& pool() const { return pool_; }

 private:
  struct Seed {
    int candidate;
    const char* arm;
  };
  struct Timed {
    double sum = 0;
    int count = 0;
    double mean() const { return sum / count; }
  };

  int64_t under_way() const { return static_cast<int64_t>(pending_.size()); }
  SharedModel& ModelOf(size_t family) const;
  // Brings predictions up to date with the models and the pool.
  void Predict();
  void PredictFrom(int first);
  void FitOffsets();
  int64_t ModelVersion() const;
  void Grow();
  double Score(int candidate) const;
  double PriorScore(int candidate) const;
  bool Free(int candidate) const { return !tried_[static_cast<size_t>(candidate)]; }
  std::vector<int> Incumbents(size_t count) const;
  int Favourite(bool prior_alone);
  int BestNeighbour();
  int RandomOne();
  int Choose(const char*& arm);
  void Fill(Pick& pick, int candidate, const char* arm);
  void Improve(int candidate, double ns);
  void Teach(int candidate, double ns, double weight);

  Pool pool_;
  SharedModels& models_;
  Rng rng_;
  std::deque<Seed> seeds_;
  std::vector<char> tried_;
  std::set<int> pending_;
  std::map<int, Timed> timed_;
  std::set<int> repeated_;
  std::vector<float> prior_;    // corrections of log estimates
  std::vector<float> online_;   // both layers
  std::vector<double> offset_;  // by family: mean of log measured less predicted, shrunk
  int default_ = -1;
  int best_ = -1;
  double best_ns_ = 0;
  double default_ns_ = 0;
  int64_t trials_ = 0;
  int64_t known_ = 0;
  int64_t turn_ = 0;
  int64_t stale_ = 0;     // results since the last improvement
  int64_t version_ = -1;  // of the models that predictions are from
  int64_t grown_at_ = 0;  // results when the pool last grew
  bool done_ = false;
};

}  // namespace mlc::server
