#include "tests/bench/search/searches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace mlc::bench {
namespace {

using server::Ending;
using server::Pick;
using server::Point;
using server::Portfolio;

constexpr int kBatch = 8;
// Configs that a search takes over from each of another device.
constexpr size_t kTransferred = 3;

std::vector<const Point*> PointsOf(const RecordedSpace& space) {
  std::vector<const Point*> points;
  for (const auto& [point, row] : space.rows()) points.push_back(&point);
  return points;
}

}  // namespace

Portfolio::SavedRows RunPortfolio(const SpaceRef& space, const PortfolioSetting& setting,
                                  const RelatedLog& log, int budget, uint64_t seed,
                                  Trials& trials) {
  std::vector<server::PortfolioTask> tasks(1);
  tasks[0].source = space->Source(setting.blind);
  for (size_t place = 0; place < kTransferred; ++place) {
    for (const std::vector<Point>& points : log.fastest) {
      if (place < points.size()) tasks[0].of_other_devices.push_back({0, points[place]});
    }
  }
  server::SearchConstants constants = setting.constants;
  constants.sample_draws = space->sample_draws();
  Portfolio portfolio(std::move(tasks), log.rows, {budget, seed, constants});
  while (!trials.over()) {
    const std::vector<Pick> picks = portfolio.Propose(std::min(kBatch, budget - trials.count()));
    if (picks.empty()) break;
    std::vector<Portfolio::Seen> seen;
    const server::Pool& pool = portfolio.task(0).pool();
    for (const Pick& pick : picks) {
      const double ns =
          trials.Measure(space->KeyOf({pool.family(pick.candidate), pool.point(pick.candidate)}));
      if (ns > 0 && pick.within_factor > 0 && pick.repeat == 0) {
        trials.CountInterval(std::abs(std::log(ns / pick.predicted_ns)) <=
                             std::log(pick.within_factor));
      }
      const bool is_slow = pick.early_stop_ns > 0 && ns > pick.early_stop_ns;
      const Ending timed = is_slow ? Ending::kTooSlow : Ending::kTimed;
      seen.push_back({pick, ns > 0 ? timed : Ending::kFailed, ns});
    }
    portfolio.Learn(seen);
  }
  return portfolio.Gathered();
}

RelatedLog LogOfOthers(std::span<const SpaceRef> others, const server::SearchConstants& constants,
                       int budget, bool noise, uint64_t seed) {
  std::vector<SpaceRef> order(others.begin(), others.end());
  Rng rng(seed);
  for (size_t i = 0; i < order.size(); ++i) {
    std::swap(order[i], order[i + rng.Below(order.size() - i)]);
  }
  RelatedLog log;
  for (const SpaceRef& space : order) {
    Trials trials(space, budget, noise, rng.Split(1));
    log.rows = RunPortfolio(space, {{}, constants}, log, budget, rng.Next(), trials);
    log.fastest.push_back(trials.Fastest(kTransferred));
  }
  return log;
}

void RunRandom(const RecordedSpace& space, uint64_t seed, Trials& trials) {
  std::vector<const Point*> points = PointsOf(space);
  Rng rng(seed);
  for (size_t i = 0; i < points.size() && !trials.over(); ++i) {
    std::swap(points[i], points[i + rng.Below(points.size() - i)]);
    trials.Measure(*points[i]);
  }
}

void RunGenetic(const RecordedSpace& space, uint64_t seed, Trials& trials) {
  constexpr size_t kPopulation = 20;
  constexpr int kTries = 500;
  const std::vector<const Point*> all = PointsOf(space);
  Rng rng(seed);
  std::map<Point, double> tried;
  const auto fitness = [&](const Point& point) {
    if (!tried.contains(point)) {
      const double ns = trials.over() ? 0 : trials.Measure(point);
      tried[point] = ns > 0 ? ns : 1e300;
    }
    return tried[point];
  };
  std::vector<Point> parents;
  while (parents.size() < kPopulation) parents.push_back(*all[rng.Below(all.size())]);
  const auto parent = [&]() -> const Point& {
    const Point& a = parents[rng.Below(kPopulation)];
    const Point& b = parents[rng.Below(kPopulation)];
    return fitness(a) < fitness(b) ? a : b;
  };
  while (!trials.over()) {
    std::vector<Point> children;
    for (int tries = 0; children.size() < kPopulation; ++tries) {
      Point child = parent();
      const Point& other = parent();
      for (size_t k = 0; k < child.size(); ++k) {
        if (rng.Below(2) == 0) child[k] = other[k];
        if (rng.Below(10) == 0) child[k] = static_cast<uint16_t>(rng.Below(space.radix()[k]));
      }
      if (tries > kTries) child = *all[rng.Below(all.size())];
      if (space.Has(child) && (tries > kTries || !tried.contains(child))) children.push_back(child);
    }
    for (const Point& child : children) fitness(child);
    parents = std::move(children);
  }
}

void RunDescent(const RecordedSpace& space, uint64_t seed, Trials& trials) {
  const std::vector<const Point*> all = PointsOf(space);
  Rng rng(seed);
  std::set<Point> tried;
  while (!trials.over() && tried.size() < all.size()) {
    Point centre = *all[rng.Below(all.size())];
    if (!tried.insert(centre).second) continue;
    double best = trials.Measure(centre);
    for (size_t k = rng.Below(centre.size()), stuck = 0; stuck < centre.size(); ++stuck) {
      for (uint16_t value = 0; value < space.radix()[k] && !trials.over(); ++value) {
        Point moved = centre;
        moved[k] = value;
        if (!space.Has(moved) || !tried.insert(moved).second) continue;
        const double ns = trials.Measure(moved);
        if (ns <= 0 || (best > 0 && ns >= best)) continue;
        best = ns;
        centre = moved;
        stuck = 0;
      }
      k = (k + 1) % centre.size();
    }
  }
}

}  // namespace mlc::bench
