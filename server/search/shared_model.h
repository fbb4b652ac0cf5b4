// What all tasks of a search learn together about one family: how measured times differ from
// estimated ones. Two layers of boosted trees: the prior, fitted once from what earlier jobs left,
// and the online one, fitted again as this job's results come in, which corrects the prior. Beside
// a prior there is a second model of this job's results alone, for where the prior misleads.
// Deterministic; not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "costmodel/experience.h"
#include "costmodel/forest.h"

namespace mlc::server {

class SharedModel {
 public:
  // `online`: the trees of the online layer.
  SharedModel(size_t columns, const costmodel::BoostingOptions& online);

  // Once, before anything else.
  void SetPrior(costmodel::Experience rows);
  // A result: log(measured / estimated).
  void Add(std::span<const float> features, double log_ratio, double weight);
  // Fits again if enough is new.
  void Refresh();
  bool has_prior() const { return prior_.has_value(); }
  bool trained() const { return has_prior() || online_.has_value(); }
  // Changes with the predictions.
  int64_t version() const { return version_; }
  // Adds the correction of the layers to each `out`. Features row by row.
  void AddPrior(std::span<const float> features, std::span<float> out) const;
  void AddOnline(std::span<const float> features, std::span<float> out) const;
  // Adds what this job's results alone say. REQUIRES: has_prior().
  void AddAlone(std::span<const float> features, std::span<float> out) const;
  // Earlier experience and this job's, for the log.
  costmodel::Experience Gathered() const;

 private:
  costmodel::BoostingOptions online_trees_;
  costmodel::Experience before_;     // earlier jobs'
  costmodel::Experience seen_;       // this job's
  costmodel::Experience residuals_;  // the same rows, less the prior's correction
  std::optional<costmodel::Forest> prior_;
  std::optional<costmodel::Forest> online_;
  std::optional<costmodel::Forest> alone_;  // only beside a prior
  size_t fitted_rows_ = 0;
  int64_t version_ = 0;
};

}  // namespace mlc::server
