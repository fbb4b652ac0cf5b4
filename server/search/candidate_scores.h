// The scores of a task's candidates: predictions of the models of their families, plus an offset of
// this task. A score is the log of a time in ns. Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/search/candidate_times.h"
#include "server/search/pool.h"
#include "server/search/shared_model.h"

namespace mlc::server {

// By family name; shared by all tasks of a search.
using SharedModels = std::map<std::string, SharedModel, std::less<>>;

class CandidateScores {
 public:
  // Borrows both.
  CandidateScores(const Pool& pool, SharedModels& models);

  // Updates the scores to the models and the pool; `times` determines the offset of the task.
  void Update(const CandidateTimes& times);
  // REQUIRES for both: Update() was called since the candidate was added. PriorScore uses only the
  // models of earlier jobs.
  double Score(int candidate) const;
  double PriorScore(int candidate) const;
  // True if earlier jobs have left a model. REQUIRES: the task has a family.
  bool has_prior() const { return ModelOf(0).has_prior(); }
  // True if a model has corrected the estimate.
  bool IsTrained(int candidate) const { return ModelOf(pool_.family(candidate)).trained(); }
  // Adds a measured time of the candidate to the models.
  void Learn(int candidate, double ns, double weight);

 private:
  SharedModel& ModelOf(size_t family) const;
  void PredictRun(int begin, int end, int known);
  void FitOffsets(const CandidateTimes& times);

  const Pool& pool_;
  SharedModels& models_;
  std::vector<float> prior_;       // corrections of log estimates
  std::vector<float> online_;      // both layers
  std::vector<double> offset_;     // by family: mean of log measured less predicted, shrunk
  std::vector<int64_t> versions_;  // by family: of the models that predictions are from
};

}  // namespace mlc::server
