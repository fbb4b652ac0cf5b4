#include "tests/bench/search/trials.h"

#include <algorithm>
#include <cmath>

namespace mlc::bench {

namespace {

// Of about unit variance.
double DrawScatter(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.Uniform();
  return sum;
}

}  // namespace

double Trials::Timing(const RecordedSpace::Row& row) {
  if (!noise_ || row.timing.empty()) return row.ns;
  std::vector<float> timings(static_cast<size_t>(space_->timings_of_trial()));
  for (float& timing : timings) timing = row.timing[rng_.Below(row.timing.size())];
  std::sort(timings.begin(), timings.end());
  return row.ns * static_cast<double>(timings[timings.size() / 2]);
}

double Trials::Measure(const server::Point& point) {
  ++count_;
  const RecordedSpace::Row& row = space_->At(point);
  if (row.ns <= 0) return 0;
  if (failures_ > 0 && rng_.Uniform() < failures_) return 0;
  const double ns = Timing(row) * (scatter_ > 0 ? std::exp(scatter_ * DrawScatter(rng_)) : 1);
  Mean& mean = measured_[point];
  mean.sum += ns;
  ++mean.count;
  const auto best =
      std::min_element(measured_.begin(), measured_.end(), [](const auto& a, const auto& b) {
        return a.second.sum / a.second.count < b.second.sum / b.second.count;
      });
  const double quality = space_->best_ns() / space_->At(best->first).ns;
  if (steps_.empty() || steps_.back().second != quality) steps_.emplace_back(count_, quality);
  return ns;
}

std::vector<server::Point> Trials::Fastest(size_t most) const {
  std::vector<std::pair<double, server::Point>> order;
  for (const auto& [point, mean] : measured_) order.emplace_back(mean.sum / mean.count, point);
  std::sort(order.begin(), order.end());
  order.resize(std::min(most, order.size()));
  std::vector<server::Point> points;
  for (auto& [ns, point] : order) points.push_back(std::move(point));
  return points;
}

int Trials::Reached(double goal) const {
  for (const auto& [trial, quality] : steps_) {
    if (quality >= goal) return trial;
  }
  return 0;
}

}  // namespace mlc::bench
