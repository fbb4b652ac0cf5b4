// What the models of families, with an offset of this task, predict of its candidates. A score is
// the log of a time in ns. Deterministic; not thread-safe.
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

  // Brings scores up to date with the models and the pool; `times` set the offset of the task.
  void Update(const CandidateTimes& times);
  // REQUIRES, of both: Update() since the candidate was added. The second is of what earlier jobs
  // left, alone.
  double Score(int candidate) const;
  double PriorScore(int candidate) const;
  // There is knowledge of earlier jobs. REQUIRES: the task has a family.
  bool has_prior() const { return ModelOf(0).has_prior(); }
  // The score is more than an estimate.
  bool IsTrained(int candidate) const { return ModelOf(pool_.family(candidate)).trained(); }
  // The candidate took so long.
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
