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
#include "server/search/search_constants.h"
#include "server/search/shared_model.h"

namespace mlc::server {

// By family name; shared by all tasks of a search.
using SharedModels = std::map<std::string, SharedModel, std::less<>>;

class CandidateScores {
 public:
  // What a score rests on: both layers of the models, what earlier jobs left alone, or this job's
  // results alone. Without knowledge of earlier jobs all are the same.
  enum class Basis : uint8_t { kBoth, kPrior, kOwn };

  // Borrows all.
  CandidateScores(const Pool& pool, SharedModels& models, const SearchConstants& constants);

  // Brings scores up to date with the models and the pool; `times` set the offset of the task.
  void Update(const CandidateTimes& times);
  // REQUIRES: Update() since the candidate was added.
  double Score(int candidate, Basis basis = Basis::kBoth) const;
  // There is knowledge of earlier jobs. REQUIRES: the task has a family.
  bool has_prior() const { return ModelOf(0).has_prior(); }
  // The score is more than an estimate.
  bool IsTrained(int candidate) const { return ModelOf(pool_.family(candidate)).trained(); }
  // The candidate took so long.
  void Learn(int candidate, double ns, double weight);

 private:
  SharedModel& ModelOf(size_t family) const;
  void PredictRun(int begin, int end, int known);
  // By family, of one kind of predictions.
  std::vector<double> OffsetsOf(const std::vector<float>& predicted,
                                const CandidateTimes& times) const;

  const Pool& pool_;
  SharedModels& models_;
  const SearchConstants& constants_;
  std::vector<float> prior_;    // corrections of log estimates
  std::vector<float> online_;   // both layers
  std::vector<float> own_;      // of this job's results alone; empty without a prior
  std::vector<double> offset_;  // by family: mean of log measured less predicted, shrunk
  std::vector<double> own_offset_;
  std::vector<int64_t> versions_;  // by family: of the models that predictions are from
};

}  // namespace mlc::server
