// The replay of searches itself, and what the search of the service must hold on made spaces: these
// runs are few, so only wide margins are tested. replay_searches and judge.py have the figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/bench/search/rugged_space.h"
#include "tests/bench/search/searches.h"

namespace mlc::bench {
namespace {

constexpr int kTrials = 128;
constexpr uint64_t kSeeds = 4;
constexpr double kGoal = 0.95;

int PortfolioReaches(const SpaceRef& space, uint64_t seed, const RelatedLog& log) {
  Trials trials(space, kTrials, /*noise=*/true, Rng(seed));
  RunPortfolio(space, {}, log, kTrials, seed, trials);
  return trials.Reached(kGoal);
}

TEST(TrialsTest, AFailureCountsAsATrial) {
  RecordedSpace::Rows rows;
  rows[{0}].ns = 0;
  rows[{1}].ns = 100;
  const auto space =
      std::make_shared<RecordedSpace>("p", "d", RecordedSpace::Domains{{1, 2}}, rows);
  Trials trials(space, 2, true, Rng(1));
  EXPECT_EQ(trials.Measure({0}), 0);
  EXPECT_EQ(trials.Measure({1}), 100);
  EXPECT_EQ(trials.Reached(kGoal), 2);
  EXPECT_TRUE(trials.over());
}

// One timing that is too short makes a slower config the choice: its true time counts.
TEST(TrialsTest, QualityIsOfTheChosenConfigWithoutNoise) {
  RecordedSpace::Rows rows;
  rows[{0}].ns = 100;
  rows[{1}] = {125, 100, {0.5F}};
  const auto space =
      std::make_shared<RecordedSpace>("p", "d", RecordedSpace::Domains{{1, 2}}, rows);
  Trials trials(space, 2, true, Rng(1));
  trials.Measure({1});
  trials.Measure({0});
  EXPECT_EQ(trials.steps(), (Trials::Steps{{1, 0.8}}));
  EXPECT_EQ(trials.Reached(kGoal), 0);
}

TEST(RuggedSpaceTest, ANumberGivesTheSameSpaceAndOtherDevicesDiffer) {
  const SpaceRef a = MakeRuggedSpace(1, 0), b = MakeRuggedSpace(1, 0), c = MakeRuggedSpace(1, 1);
  EXPECT_EQ(a->best_ns(), b->best_ns());
  EXPECT_EQ(a->rows().size(), b->rows().size());
  EXPECT_EQ(a->domains(), c->domains());
  EXPECT_NE(a->best_ns(), c->best_ns());
}

// By values instead of places, the times are the same.
TEST(RecordedSpaceTest, RearrangedItKeepsItsTimes) {
  RecordedSpace::Rows rows;
  for (uint16_t a = 0; a < 3; ++a) {
    for (uint16_t b = 0; b < 2; ++b) rows[{a, b}].ns = 10 * a + b;  // the first one fails
  }
  const RecordedSpace space("p", "d", {{1, 2, 4}, {0, 1}}, rows);
  bool any_reversed = false;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const SpaceRef other = space.Rearranged(seed);
    any_reversed = any_reversed || other->domains() != space.domains();
    EXPECT_GT(other->At(other->start()).ns, 0);
    for (const auto& [point, row] : other->rows()) {
      const double a = std::log2(other->domains()[0][point[0]]), b = other->domains()[1][point[1]];
      EXPECT_EQ(row.ns, 10 * a + b);
    }
  }
  EXPECT_TRUE(any_reversed);
}

TEST(SearchSpacesTest, TheSameSeedMakesTheSameTrials) {
  const SpaceRef space = MakeRuggedSpace(1, 0);
  Trials first(space, kTrials, true, Rng(3)), second(space, kTrials, true, Rng(3));
  RunPortfolio(space, {}, {}, kTrials, 5, first);
  RunPortfolio(space, {}, {}, kTrials, 5, second);
  EXPECT_EQ(first.steps(), second.steps());
}

// By the simulated clock: builds overlap, the device times one trial at a time.
TEST(SearchSpacesTest, TrialsUnderWayKeepTheDeviceAtWork) {
  const SpaceRef space = MakeRuggedSpace(1, 0);
  const auto seconds = [&](const Flight& flight) {
    Trials trials(space, kTrials, true, Rng(3));
    RunPortfolio(space, {{}, {}, flight}, {}, kTrials, 5, trials);
    EXPECT_EQ(trials.count(), kTrials);
    for (int trial = 1; trial < kTrials; ++trial) {
      EXPECT_LT(trials.SecondsOf(trial), trials.SecondsOf(trial + 1));
    }
    return trials.SecondsOf(kTrials);
  };
  const double one = seconds({.batch = 8, .in_flight = 1}),
               many = seconds({.batch = 16, .in_flight = 4});
  EXPECT_GT(one, kTrials / 8 * 0.1);
  EXPECT_LT(many, one);
  EXPECT_GT(many, kTrials * 0.012);
  // Batches that begin small end in more steps than large ones, and in fewer than small ones.
  const double growing = seconds({.batch = 16, .in_flight = 4, .first_batch = 2});
  EXPECT_GT(growing, many);
  EXPECT_LT(growing, seconds({.batch = 2, .in_flight = 4}));
}

TEST(SearchSpacesTest, TheSearchOfTheServiceBeatsRandomTrials) {
  int cold = 0, warm = 0, random = 0;
  for (uint64_t problem = 1; problem <= 6; ++problem) {
    const std::vector<SpaceRef> others = {MakeRuggedSpace(problem, 1), MakeRuggedSpace(problem, 2)};
    const SpaceRef space = MakeRuggedSpace(problem, 0);
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Trials trials(space, kTrials, true, Rng(seed));
      RunRandom(*space, seed, trials);
      random += trials.Reached(kGoal) > 0 ? 1 : 0;
      cold += PortfolioReaches(space, seed, {}) > 0 ? 1 : 0;
      const RelatedLog log = LogOfOthers(others, {}, kTrials, true, seed);
      warm += PortfolioReaches(space, seed, log) > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(cold, random + 4);
  EXPECT_GE(warm, random + 4);
}

TEST(SearchSpacesTest, RecordedSpacesAreReadWhole) {
  const char* folder = std::getenv("MLC_TUNING_SPACES");
  if (folder == nullptr) GTEST_SKIP() << "MLC_TUNING_SPACES names no folder of recorded spaces";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.path().string().ends_with(".json.gz")) continue;
    const auto space = RecordedSpace::Read(entry.path().string());
    ASSERT_TRUE(space.ok()) << space.status().ToString();
    EXPECT_GT((*space)->rows().size(), 1000U);
    EXPECT_GT(PortfolioReaches(*space, 1, {}), -1);
  }
}

TEST(SearchSpacesTest, AFileThatIsNoSpaceIsAnError) {
  EXPECT_FALSE(RecordedSpace::Read("/nowhere/kernel_device.json.gz").ok());
}

}  // namespace
}  // namespace mlc::bench
