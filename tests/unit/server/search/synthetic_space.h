// A simulated device with a small tuning space: five knobs, 7,200 points, illegal ones among them,
// times from a closed formula with steps and interactions, and noise that depends on the point and
// the repeat alone. Tasks differ in size, which moves the optimum: what one task learns helps
// another, but not blindly. The estimate that the search is given knows half of the truth.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "server/search/portfolio.h"

namespace mlc::server {

class SyntheticSource : public CandidateSource {
 public:
  explicit SyntheticSource(double size) : size_(size) {}
  size_t families() const override { return 1; }
  std::string_view family_name(size_t) const override { return "synthetic"; }
  std::span<const uint16_t> radix(size_t) const override { return kRadix; }
  size_t columns() const override { return 8; }
  std::vector<PointRef> Defaults() const override { return {{0, {2, 2, 1, 1, 0}}}; }

  static bool Legal(const Point& p) { return Tile(p) <= 48; }

  bool Describe(size_t, const Point& p, double& estimate_ns,
                std::span<float> features) const override {
    if (!Legal(p)) return false;
    estimate_ns = size_ * (1 + 0.3 * std::abs(Tile(p) - 30) / 30);
    for (size_t k = 0; k < 5; ++k) features[k] = static_cast<float>(p[k]);
    features[5] = static_cast<float>(Tile(p));
    features[6] = static_cast<float>(std::log2(size_));
    features[7] = static_cast<float>(std::log(estimate_ns));
    return true;
  }

  // Without noise.
  double Time(const Point& p) const {
    const double tile = Tile(p);
    double ns = size_ * (1 + 0.3 * std::abs(tile - 28) / 30);
    const double split = 1 << p[2];
    ns *= 1 + 0.08 * std::abs(std::log2(size_ / 1000 / split) - 1.5);
    if (p[3] == 2 && tile > 24) ns *= 0.88;
    if (p[3] == 3 && tile > 36) ns *= 1.25;
    ns *= 1 + 0.04 * std::abs(p[4] - 3.0 + p[2] / 2);
    return ns;
  }

  double Optimum() const {
    double best = 1e300;
    Point p(5);
    for (p[0] = 0; p[0] < kRadix[0]; ++p[0])
      for (p[1] = 0; p[1] < kRadix[1]; ++p[1])
        for (p[2] = 0; p[2] < kRadix[2]; ++p[2])
          for (p[3] = 0; p[3] < kRadix[3]; ++p[3])
            for (p[4] = 0; p[4] < kRadix[4]; ++p[4])
              if (Legal(p)) best = std::min(best, Time(p));
    return best;
  }

 private:
  static constexpr uint16_t kRadix[] = {10, 6, 6, 4, 5};
  static double Tile(const Point& p) { return (p[0] + 1) * (p[1] + 1); }

  double size_;
};

// The device: measures picks of a portfolio over synthetic tasks.
class SyntheticDevice {
 public:
  explicit SyntheticDevice(std::vector<double> sizes) {
    for (double size : sizes) {
      sources_.emplace_back(size);
      optima_.push_back(sources_.back().Optimum());
    }
  }

  std::vector<PortfolioTask> Tasks() const {
    std::vector<PortfolioTask> tasks;
    for (const SyntheticSource& source : sources_) {
      tasks.emplace_back().source = std::make_unique<SyntheticSource>(source);
    }
    return tasks;
  }

  Portfolio::Seen Measure(const Pick& pick, const Point& point) const {
    uint64_t key = static_cast<uint64_t>(pick.repeat) + 1;
    for (uint16_t k : point) key = key * 31 + k;
    const double noise = Rng(key).Uniform() - 0.5;
    const double ns = TimeOf(pick.task, point) * (1 + 0.02 * noise);
    const bool slow = pick.early_stop_ns > 0 && ns > pick.early_stop_ns;
    return {pick, slow ? Ending::kTooSlow : Ending::kTimed, ns};
  }

  double TimeOf(int task, const Point& point) const {
    return sources_[static_cast<size_t>(task)].Time(point);
  }
  double Optimum(int task) const { return optima_[static_cast<size_t>(task)]; }

 private:
  std::vector<SyntheticSource> sources_;
  std::vector<double> optima_;
};

}  // namespace mlc::server
