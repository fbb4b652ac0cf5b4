#include "server/search/candidate_scores.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

namespace mlc::server {

CandidateScores::CandidateScores(const Pool& pool, SharedModels& models,
                                 const SearchConstants& constants)
    : pool_(pool),
      models_(models),
      constants_(constants),
      offset_(pool.source().families(), 0.0),
      own_offset_(pool.source().families(), 0.0),
      versions_(pool.source().families(), -1) {}

double CandidateScores::Score(int candidate, Basis basis) const {
  const auto place = static_cast<size_t>(candidate);
  const size_t family = pool_.family(candidate);
  if (basis == Basis::kOwn && !own_.empty()) {
    return pool_.log_estimate(candidate) + static_cast<double>(own_[place]) + own_offset_[family];
  }
  const std::vector<float>& predicted = basis == Basis::kPrior ? prior_ : online_;
  return pool_.log_estimate(candidate) + static_cast<double>(predicted[place]) + offset_[family];
}

SharedModel& CandidateScores::ModelOf(size_t family) const {
  const std::string_view name = pool_.source().family_name(family);
  const auto found = models_.find(name);
  if (found != models_.end()) return found->second;
  SharedModel model(pool_.source().columns(), constants_.online_trees);
  return models_.emplace(std::string(name), std::move(model)).first->second;
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
  if (pool_.source().families() > 0 && has_prior()) own_.resize(size, 0);
  for (int begin = any ? 0 : known; begin < pool_.size();) {
    const size_t family = pool_.family(begin);
    int end = begin + 1;
    while (end < pool_.size() && end != known && pool_.family(end) == family) ++end;
    if (begin >= known || changed[family]) PredictRun(begin, end, known);
    begin = end;
  }
  offset_ = OffsetsOf(online_, times);
  if (!own_.empty()) own_offset_ = OffsetsOf(own_, times);
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
  if (own_.empty() || !model.has_prior()) return;
  const std::span<float> own = std::span(own_).subspan(from, count);
  std::fill(own.begin(), own.end(), 0.0F);
  model.AddAlone(rows, own);
}

std::vector<double> CandidateScores::OffsetsOf(const std::vector<float>& predicted,
                                               const CandidateTimes& times) const {
  std::vector<double> sum(offset_.size(), 0.0), count(offset_.size(), 0.0);
  for (const int candidate : times.All()) {
    const size_t family = pool_.family(candidate);
    sum[family] += std::log(times.SingleNs(candidate)) - pool_.log_estimate(candidate) -
                   static_cast<double>(predicted[static_cast<size_t>(candidate)]);
    ++count[family];
  }
  for (size_t f = 0; f < sum.size(); ++f) sum[f] /= count[f] + 1;
  return sum;
}

void CandidateScores::Learn(int candidate, double ns, double weight) {
  std::vector<float> row(pool_.source().columns());
  pool_.ReadFeatures(candidate, row);
  ModelOf(pool_.family(candidate)).Add(row, std::log(ns) - pool_.log_estimate(candidate), weight);
}

}  // namespace mlc::server
