// Replays searches on spaces that were measured exhaustively: trials until 95 % of the best, and
// how often that is reached. Needs MLC_TUNING_SPACES, a folder of *.json.gz files of the
// Auto-Tuning Association's benchmark hub named KERNEL_DEVICE.json.gz; prints a table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "server/search/portfolio.h"
#include "tests/bench/recorded_space.h"

namespace mlc::bench {
namespace {

using server::Ending;
using server::Pick;
using server::Point;
using server::Portfolio;
using SpaceRef = std::shared_ptr<const RecordedSpace>;

constexpr int kTrials = 256;
constexpr int kSeeds = 5;
constexpr double kGoal = 0.95;

// Follows one search; trials beyond the budget count as one more than it.
struct Score {
  const RecordedSpace& space;
  int trials = 0;
  int reached = kTrials + 1;
  void Add(const Point& point) {
    ++trials;
    const double ns = space.Time(point);
    if (reached > kTrials && ns > 0 && space.best() / ns >= kGoal) reached = trials;
  }
};

int RunPortfolio(const SpaceRef& space, uint64_t seed, Portfolio::SavedRows rows,
                 Portfolio::SavedRows* gathered = nullptr) {
  std::vector<server::PortfolioTask> tasks(1);
  tasks[0].source = std::make_unique<RecordedSource>(space);
  Portfolio portfolio(std::move(tasks), std::move(rows), {kTrials, seed});
  Score score{*space};
  while (score.trials < kTrials) {
    const std::vector<Pick> picks = portfolio.Propose(8);
    if (picks.empty()) break;
    std::vector<Portfolio::Seen> seen;
    for (const Pick& pick : picks) {
      const Point& point = portfolio.task(0).pool().point(pick.candidate);
      score.Add(point);
      const double ns = space->Time(point);
      seen.push_back({pick, ns > 0 ? Ending::kTimed : Ending::kFailed, ns});
    }
    portfolio.Learn(seen);
  }
  if (gathered != nullptr) *gathered = portfolio.Gathered();
  return score.reached;
}

int RunRandom(const SpaceRef& space, uint64_t seed) {
  std::vector<const Point*> points;
  for (const auto& [point, ns] : space->rows()) points.push_back(&point);
  Rng rng(seed);
  Score score{*space};
  for (size_t i = 0; i < kTrials && i < points.size(); ++i) {
    std::swap(points[i], points[i + rng.Below(points.size() - i)]);
    score.Add(*points[i]);
  }
  return score.reached;
}

// A plain genetic algorithm: twenty parents, tournament selection, uniform crossover, mutation.
int RunGenetic(const SpaceRef& space, uint64_t seed) {
  constexpr size_t kPopulation = 20;
  std::vector<const Point*> all;
  for (const auto& [point, ns] : space->rows()) all.push_back(&point);
  Rng rng(seed);
  Score score{*space};
  std::map<Point, double> tried;
  const auto fitness = [&](const Point& point) {
    if (!tried.contains(point)) {
      score.Add(point);
      tried[point] = space->Time(point) > 0 ? space->Time(point) : 1e300;
    }
    return tried[point];
  };
  std::vector<Point> parents;
  while (parents.size() < kPopulation) parents.push_back(*all[rng.Below(all.size())]);
  while (score.trials < kTrials) {
    std::vector<Point> children;
    const auto parent = [&]() -> const Point& {
      const Point& a = parents[rng.Below(kPopulation)];
      const Point& b = parents[rng.Below(kPopulation)];
      return fitness(a) < fitness(b) ? a : b;
    };
    for (int tries = 0; children.size() < kPopulation; ++tries) {
      Point child = parent();
      const Point& other = parent();
      for (size_t k = 0; k < child.size(); ++k) {
        if (rng.Below(2) == 0) child[k] = other[k];
        if (rng.Below(10) == 0) child[k] = static_cast<uint16_t>(rng.Below(space->radix()[k]));
      }
      if (tries > 500) child = *all[rng.Below(all.size())];
      if (space->Has(child) && (tries > 500 || !tried.contains(child))) children.push_back(child);
    }
    for (const Point& child : children) fitness(child);
    parents = std::move(children);
  }
  return score.reached;
}

struct Line {
  std::vector<int> reached;
  double Median() const {
    std::vector<int> sorted = reached;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double Hits() const {
    return static_cast<double>(
               std::count_if(reached.begin(), reached.end(), [](int n) { return n <= kTrials; })) /
           static_cast<double>(reached.size());
  }
  void Print(const std::string& name) const {
    std::printf("%-34s median trials to 95%%: %4.0f  reached: %3.0f%%\n", name.c_str(), Median(),
                100 * Hits());
  }
};

TEST(RecordedSpacesTest, ThePortfolioBeatsItsBaselines) {
  const char* folder = std::getenv("MLC_TUNING_SPACES");
  if (folder == nullptr) GTEST_SKIP() << "MLC_TUNING_SPACES names no folder of recorded spaces";
  std::map<std::string, std::map<std::string, SpaceRef>> kernels;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json.gz")) continue;
    const auto space = RecordedSpace::Read(entry.path().string());
    ASSERT_TRUE(space.ok()) << space.status().ToString();
    kernels[name.substr(0, name.find('_'))][name] = *space;
  }
  ASSERT_FALSE(kernels.empty());
  for (const auto& [kernel, spaces] : kernels) {
    Line random, genetic, cold, warm;
    for (const auto& [name, space] : spaces) {
      for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        random.reached.push_back(RunRandom(space, seed));
        genetic.reached.push_back(RunGenetic(space, seed));
        cold.reached.push_back(RunPortfolio(space, seed, {}));
        // Other devices' searches leave their rows.
        Portfolio::SavedRows rows;
        for (const auto& [other, source] : spaces) {
          if (other == name) continue;
          Portfolio::SavedRows gathered;
          RunPortfolio(source, seed + 100, std::move(rows), &gathered);
          rows = std::move(gathered);
        }
        warm.reached.push_back(RunPortfolio(space, seed, std::move(rows)));
      }
    }
    random.Print(kernel + " random");
    genetic.Print(kernel + " genetic");
    cold.Print(kernel + " portfolio, cold");
    warm.Print(kernel + " portfolio, other devices' log");
    EXPECT_GE(cold.Hits(), random.Hits());
    EXPECT_GE(warm.Hits(), random.Hits());
    // Where a handful of random trials will do there is nothing to gain.
    if (random.Median() < 16) continue;
    EXPECT_LT(1.5 * cold.Median(), random.Median());
    EXPECT_LT(2 * warm.Median(), cold.Median());
  }
}

}  // namespace
}  // namespace mlc::bench
