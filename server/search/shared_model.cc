#include "server/search/shared_model.h"

#include <vector>

namespace mlc::server {
namespace {

constexpr size_t kFirstFit = 12;  // rows
constexpr double kGrowth = 1.2;   // of the rows, until the next fit
constexpr costmodel::BoostingOptions kPriorTrees{.trees = 100, .depth = 6, .eta = 0.12};

void AddLayer(const std::optional<costmodel::Forest>& layer, std::span<const float> features,
              std::span<float> out) {
  if (!layer) return;
  std::vector<float> values(out.size());
  layer->Predict(features, values);
  for (size_t i = 0; i < out.size(); ++i) out[i] += values[i];
}

}  // namespace

SharedModel::SharedModel(size_t columns, const costmodel::BoostingOptions& online)
    : online_trees_(online), before_(columns), seen_(columns), residuals_(columns) {}

void SharedModel::SetPrior(costmodel::Experience rows) {
  before_ = std::move(rows);
  if (before_.size() < kFirstFit) return;
  Result<costmodel::Forest> model = before_.Fit(kPriorTrees);
  if (model.ok()) prior_ = *std::move(model);
}

void SharedModel::Add(std::span<const float> features, double log_ratio, double weight) {
  float correction = 0;
  AddPrior(features, std::span(&correction, 1));
  const auto label = static_cast<float>(log_ratio);
  seen_.Add(features, label, static_cast<float>(weight));
  residuals_.Add(features, label - correction, static_cast<float>(weight));
}

void SharedModel::Refresh() {
  const auto due = static_cast<size_t>(static_cast<double>(fitted_rows_) * kGrowth);
  if (residuals_.size() < kFirstFit || residuals_.size() <= due) return;
  fitted_rows_ = residuals_.size();
  Result<costmodel::Forest> model = residuals_.Fit(online_trees_);
  if (!model.ok()) return;
  online_ = *std::move(model);
  ++version_;
  if (!has_prior()) return;
  Result<costmodel::Forest> alone = seen_.Fit(online_trees_);
  if (alone.ok()) alone_ = *std::move(alone);
}

void SharedModel::AddPrior(std::span<const float> features, std::span<float> out) const {
  AddLayer(prior_, features, out);
}

void SharedModel::AddOnline(std::span<const float> features, std::span<float> out) const {
  AddLayer(online_, features, out);
}

void SharedModel::AddAlone(std::span<const float> features, std::span<float> out) const {
  AddLayer(alone_, features, out);
}

costmodel::Experience SharedModel::Gathered() const {
  costmodel::Experience all = before_;
  all.Append(seen_);
  return all;
}

}  // namespace mlc::server
