#include "tests/bench/search/searches.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace mlc::bench {
namespace {

using server::Ending;
using server::Pick;
using server::Point;
using server::Portfolio;

// Configs that a search takes over from each of another device.
constexpr size_t kTransferred = 3;

std::vector<const Point*> PointsOf(const RecordedSpace& space) {
  std::vector<const Point*> points;
  for (const auto& [point, row] : space.rows()) points.push_back(&point);
  return points;
}

// What a job does with the trials of its batches, by a clock that simulates builds and the device.
class Course {
 public:
  Course(const SpaceRef& space, Portfolio& portfolio, const Flight& flight, uint64_t seed,
         Trials& trials)
      : space_(space),
        portfolio_(portfolio),
        flight_(flight),
        rng_(seed),
        trials_(trials),
        free_at_(static_cast<size_t>(flight.builders), 0.0) {}

  void Run(int budget) {
    left_ = budget;
    Fill();
    while (!batches_.empty()) {
      while (batches_.front().seen.size() < batches_.front().size) TimeNext();
      known_ += batches_.front().size;
      portfolio_.Learn(batches_.front().seen);
      batches_.pop_front();
      Fill();
    }
  }

 private:
  struct Batch {
    size_t size = 0;
    std::vector<std::pair<double, Pick>> built;  // when, and what
    std::vector<Portfolio::Seen> seen;
  };

  int NextSize() const {
    const int first = flight_.first_batch > 0 ? flight_.first_batch : flight_.batch;
    return std::clamp(static_cast<int>(static_cast<double>(known_) / flight_.known_of_batch), first,
                      flight_.batch);
  }

  void Fill() {
    while (left_ > 0 && std::ssize(batches_) < flight_.in_flight) {
      const std::vector<Pick> picks = portfolio_.Propose(std::min(NextSize(), left_));
      if (picks.empty()) return;
      Batch& batch = batches_.emplace_back();
      batch.size = picks.size();
      left_ -= static_cast<int>(picks.size());
      for (const Pick& pick : picks) {
        double& builder = *std::min_element(free_at_.begin(), free_at_.end());
        builder = std::max(builder, now_) + flight_.build_s * (0.6 + 0.8 * rng_.Uniform());
        batch.built.emplace_back(builder, pick);
      }
    }
  }

  // Of all that are built, or else the one that is built first.
  void TimeNext() {
    Batch* of = nullptr;
    size_t chosen = 0;
    for (Batch& batch : batches_) {
      for (size_t i = 0; i < batch.built.size(); ++i) {
        if (of != nullptr && batch.built[i].first >= of->built[chosen].first) continue;
        of = &batch;
        chosen = i;
      }
    }
    const auto [built, pick] = of->built[chosen];
    of->built.erase(of->built.begin() + static_cast<std::ptrdiff_t>(chosen));
    now_ = std::max(now_, built) + flight_.trial_s;
    of->seen.push_back(Measure(pick));
  }

  Portfolio::Seen Measure(const Pick& pick) {
    const server::Pool& pool = portfolio_.task(0).pool();
    const double ns =
        trials_.Measure(space_->KeyOf({pool.family(pick.candidate), pool.point(pick.candidate)}));
    trials_.NoteTime(now_);
    if (ns > 0 && pick.within_factor > 0 && pick.repeat == 0) {
      trials_.CountInterval(std::abs(std::log(ns / pick.predicted_ns)) <=
                            std::log(pick.within_factor));
    }
    const bool is_slow = pick.early_stop_ns > 0 && ns > pick.early_stop_ns;
    const Ending timed = is_slow ? Ending::kTooSlow : Ending::kTimed;
    return {pick, ns > 0 ? timed : Ending::kFailed, ns};
  }

  const SpaceRef& space_;
  Portfolio& portfolio_;
  const Flight& flight_;
  Rng rng_;
  Trials& trials_;
  std::vector<double> free_at_;
  std::deque<Batch> batches_;
  double now_ = 0;
  size_t known_ = 0;
  int left_ = 0;
};

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
  Course(space, portfolio, setting.flight, seed, trials).Run(budget);
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
    log.rows = RunPortfolio(space, {{}, constants, {}}, log, budget, rng.Next(), trials);
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
