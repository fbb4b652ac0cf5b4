#include "server/search/candidate_scores.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

namespace mlc::server {

CandidateScores::CandidateScores(const Pool& pool, SharedModels& models)
    : pool_(pool),
      models_(models),
      offset_(pool.source().families(), 0.0),
      versions_(pool.source().families(), -1) {}

double CandidateScores::Score(int candidate) const {
  return pool_.log_estimate(candidate) +
         static_cast<double>(online_[static_cast<size_t>(candidate)]) +
         offset_[pool_.family(candidate)];
}

double CandidateScores::PriorScore(int candidate) const {
  return pool_.log_estimate(candidate) +
         static_cast<double>(prior_[static_cast<size_t>(candidate)]) +
         offset_[pool_.family(candidate)];
}

SharedModel& CandidateScores::ModelOf(size_t family) const {
  const std::string_view name = pool_.source().family_name(family);
  const auto found = models_.find(name);
  if (found != models_.end()) return found->second;
  return models_.emplace(std::string(name), SharedModel(pool_.source().columns())).first->second;
}

// Only what is new is asked: candidates, and the families whose models have changed. Runs of
// candidates of one family are predicted together.
void CandidateScores::Update(const CandidateTimes& times) {
  const auto known = static_cast<int>(online_.size());
  std::vector<char> changed(versions_.size());
  bool any = false;
  for (size_t f = 0; f < versions_.size(); ++f) {
    const int64_t version = ModelOf(f).version();
    changed[f] = version != versions_[f];
    versions_[f] = version;
    any = any || changed[f];
  }
  const auto size = static_cast<size_t>(pool_.size());
  prior_.resize(size, 0);
  online_.resize(size, 0);
  for (int begin = any ? 0 : known; begin < pool_.size();) {
    const size_t family = pool_.family(begin);
    int end = begin + 1;
    while (end < pool_.size() && end != known && pool_.family(end) == family) ++end;
    if (begin >= known || changed[family]) PredictRun(begin, end, known);
    begin = end;
  }
  FitOffsets(times);
}

void CandidateScores::PredictRun(int begin, int end, int known) {
  const auto from = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
  std::vector<float> rows(count * pool_.source().columns());
  pool_.ReadFeatures(begin, rows);
  const SharedModel& model = ModelOf(pool_.family(begin));
  const std::span<float> prior = std::span(prior_).subspan(from, count);
  const std::span<float> both = std::span(online_).subspan(from, count);
  // The prior does not change: it is asked once for each candidate.
  if (begin >= known) model.AddPrior(rows, prior);
  std::copy(prior.begin(), prior.end(), both.begin());
  model.AddOnline(rows, both);
}

void CandidateScores::FitOffsets(const CandidateTimes& times) {
  std::vector<double> sum(offset_.size(), 0.0), count(offset_.size(), 0.0);
  for (const int candidate : times.All()) {
    const size_t family = pool_.family(candidate);
    sum[family] += std::log(times.SingleNs(candidate)) - pool_.log_estimate(candidate) -
                   static_cast<double>(online_[static_cast<size_t>(candidate)]);
    ++count[family];
  }
  for (size_t f = 0; f < offset_.size(); ++f) offset_[f] = sum[f] / (count[f] + 1);
}

void CandidateScores::Learn(int candidate, double ns, double weight) {
  std::vector<float> row(pool_.source().columns());
  pool_.ReadFeatures(candidate, row);
  ModelOf(pool_.family(candidate)).Add(row, std::log(ns) - pool_.log_estimate(candidate), weight);
}

}  // namespace mlc::server
