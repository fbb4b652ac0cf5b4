// The model of one family that all tasks of a search share: it predicts log(measured / estimated).
// It has two layers of boosted trees. The prior layer is fitted once from the rows of earlier jobs.
// The online layer is fitted again as results of this job arrive, and corrects the prior layer.
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
  explicit SharedModel(size_t columns);

  // Sets the rows of earlier jobs. Call it once, before all other functions.
  void SetPrior(costmodel::Experience rows);
  // Adds a result: `log_ratio` is log(measured / estimated).
  void Add(std::span<const float> features, double log_ratio, double weight);
  // Fits the online layer again if there are enough new results.
  void Refresh();
  bool has_prior() const { return prior_.has_value(); }
  bool trained() const { return has_prior() || online_.has_value(); }
  // A number that changes whenever predictions change.
  int64_t version() const { return version_; }
  // Adds the correction of the layer to each element of `out`. `features`: row by row.
  void AddPrior(std::span<const float> features, std::span<float> out) const;
  void AddOnline(std::span<const float> features, std::span<float> out) const;
  // The rows of earlier jobs and of this job, for the log.
  costmodel::Experience Gathered() const;

 private:
  costmodel::Experience before_;     // earlier jobs'
  costmodel::Experience seen_;       // this job's
  costmodel::Experience residuals_;  // the same rows, less the prior's correction
  std::optional<costmodel::Forest> prior_;
  std::optional<costmodel::Forest> online_;
  size_t fitted_rows_ = 0;
  int64_t version_ = 0;
};

}  // namespace mlc::server
