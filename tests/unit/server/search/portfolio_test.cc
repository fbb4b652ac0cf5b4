#include "server/search/portfolio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/server/search/synthetic_space.h"

namespace mlc::server {
namespace {

const std::vector<double> kSizes = {4000, 8000, 16000, 64000};

// The course of a tuning: for each trial, the mean over tasks of optimum over best so far.
struct Course {
  std::vector<double> quality;
  std::string text;  // every pick

  size_t Reaches(double share) const {
    for (size_t i = 0; i < quality.size(); ++i) {
      if (quality[i] >= share) return i + 1;
    }
    return quality.size() + 1;
  }
};

class Follow {
 public:
  Follow(const SyntheticDevice& device, size_t tasks) : device_(device), best_(tasks, 0) {}
  void Add(Course& course, int task, const Point& point) {
    double& best = best_[static_cast<size_t>(task)];
    const double share = device_.Optimum(task) / device_.TimeOf(task, point);
    best = std::max(best, share);
    double sum = 0;
    for (double b : best_) sum += b;
    course.quality.push_back(sum / static_cast<double>(best_.size()));
  }

 private:
  const SyntheticDevice& device_;
  std::vector<double> best_;
};

// Two batches in flight, as jobs have.
Course Tune(const SyntheticDevice& device, Portfolio& portfolio, int64_t trials, int batch = 8) {
  Course course;
  Follow follow(device, portfolio.size());
  std::vector<std::vector<Pick>> flight = {portfolio.Propose(batch), portfolio.Propose(batch)};
  int64_t proposed = 2 * batch;
  while (!flight.empty() && !flight[0].empty()) {
    std::vector<Portfolio::Seen> seen;
    for (const Pick& pick : flight[0]) {
      const Point& point = portfolio.task(pick.task).pool().point(pick.candidate);
      seen.push_back(device.Measure(pick, point));
      follow.Add(course, pick.task, point);
      course.text += std::to_string(pick.task) + ":" + std::to_string(pick.candidate) + ":" +
                     std::to_string(pick.repeat) + ":" + pick.arm + "\n";
    }
    portfolio.Learn(seen);
    flight.erase(flight.begin());
    if (proposed < trials) flight.push_back(portfolio.Propose(batch));
    proposed += batch;
  }
  return course;
}

Course TuneCold(const SyntheticDevice& device, uint64_t seed, int64_t trials) {
  Portfolio portfolio(device.Tasks(), {}, {trials, seed});
  return Tune(device, portfolio, trials);
}

Course TuneAtRandom(const SyntheticDevice& device, uint64_t seed, int64_t trials) {
  Course course;
  Follow follow(device, kSizes.size());
  Rng rng(seed);
  const SyntheticSource source(1);
  while (static_cast<int64_t>(course.quality.size()) < trials) {
    Point point;
    for (uint16_t radix : source.radix(0)) {
      point.push_back(static_cast<uint16_t>(rng.Below(radix)));
    }
    if (!SyntheticSource::Legal(point)) continue;
    follow.Add(course, static_cast<int>(course.quality.size() % kSizes.size()), point);
  }
  return course;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

TEST(PortfolioTest, TheSameSeedGivesTheSamePicks) {
  const SyntheticDevice device(kSizes);
  const Course first = TuneCold(device, 5, 160);
  EXPECT_EQ(first.text, TuneCold(device, 5, 160).text);
  EXPECT_NE(first.text, TuneCold(device, 6, 160).text);
}

TEST(PortfolioTest, NeverProposesATrialTwice) {
  const SyntheticDevice device(kSizes);
  Portfolio portfolio(device.Tasks(), {}, {400, 1});
  std::set<std::tuple<int, int, int>> seen;
  const Course course = Tune(device, portfolio, 400);
  std::istringstream lines(course.text);
  std::set<std::string> trials;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(trials.insert(line.substr(0, line.rfind(':'))).second) << line;
  }
  EXPECT_THAT(course.text, ::testing::HasSubstr(":1:verify"));
}

TEST(PortfolioTest, NeedsAtMostHalfTheTrialsOfARandomSearch) {
  const SyntheticDevice device(kSizes);
  std::vector<double> ours, random;
  for (uint64_t seed = 1; seed <= 9; ++seed) {
    ours.push_back(static_cast<double>(TuneCold(device, seed, 800).Reaches(0.95)));
    random.push_back(static_cast<double>(TuneAtRandom(device, seed, 4000).Reaches(0.95)));
  }
  EXPECT_LE(2 * Median(ours), Median(random));
  EXPECT_LE(*std::max_element(ours.begin(), ours.end()), 800);
}

TEST(PortfolioTest, EarlierJobsTeachOtherShapes) {
  const SyntheticDevice device(kSizes);
  const SyntheticDevice others({3000, 6000, 12000, 32000, 90000});
  std::vector<double> cold, warm;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Portfolio before(others.Tasks(), {}, {200, seed});
    Tune(others, before, 200);
    Portfolio after(device.Tasks(), before.Gathered(), {200, seed});
    warm.push_back(static_cast<double>(Tune(device, after, 200).Reaches(0.93)));
    cold.push_back(static_cast<double>(TuneCold(device, seed, 200).Reaches(0.93)));
  }
  EXPECT_LE(1.3 * Median(warm), Median(cold));
}

TEST(PortfolioTest, MisleadingKnowledgeDoesNotStopIt) {
  const SyntheticDevice device(kSizes);
  // Rows that say the opposite of what is true.
  const SyntheticSource source(8000);
  costmodel::Experience wrong(source.columns());
  Rng rng(1);
  std::vector<float> features(source.columns());
  while (wrong.size() < 300) {
    Point point;
    for (uint16_t radix : source.radix(0)) {
      point.push_back(static_cast<uint16_t>(rng.Below(radix)));
    }
    double estimate = 0;
    if (!source.Describe(0, point, estimate, features)) continue;
    wrong.Add(features, static_cast<float>(std::log(estimate / source.Time(point))), 1);
  }
  Portfolio portfolio(device.Tasks(), {{"synthetic", wrong}}, {800, 1});
  EXPECT_LE(Tune(device, portfolio, 800).Reaches(0.95), 800u);
}

TEST(PortfolioTest, EveryTaskGetsItsDefaultFirst) {
  const SyntheticDevice device(kSizes);
  Portfolio portfolio(device.Tasks(), {}, {100, 1});
  std::set<int> tasks;
  for (const Pick& pick : portfolio.Propose(static_cast<int>(kSizes.size()))) {
    EXPECT_STREQ(pick.arm, "default");
    tasks.insert(pick.task);
  }
  EXPECT_EQ(tasks.size(), kSizes.size());
}

TEST(PortfolioTest, WhatIsKnownIsTriedAgainOnlyIfGood) {
  const SyntheticDevice device({8000});
  std::vector<PortfolioTask> tasks = device.Tasks();
  const Point good = {4, 4, 1, 2, 2}, bad = {0, 0, 5, 0, 0};
  for (const Point& p : {good, bad}) {
    tasks[0].known.push_back({{0, p}, Ending::kTimed, device.TimeOf(0, p)});
  }
  for (uint16_t k = 1; k < 4; ++k) {
    const Point p = {0, k, 5, 0, 0};
    tasks[0].known.push_back({{0, p}, Ending::kFailed, 0});
  }
  Portfolio portfolio(std::move(tasks), {}, {300, 1});
  EXPECT_EQ(portfolio.task(0).best_ns(), device.TimeOf(0, good));
  const std::vector<Pick> picks = portfolio.Propose(4);
  ASSERT_FALSE(picks.empty());
  EXPECT_STREQ(picks[0].arm, "transfer");
  EXPECT_EQ(portfolio.task(0).pool().point(picks[0].candidate), good);
  EXPECT_NEAR(picks[0].race_ns, 1.3 * device.TimeOf(0, good), 1);
}

TEST(PortfolioTest, FailuresAreNoBest) {
  const SyntheticDevice device(kSizes);
  Portfolio portfolio(device.Tasks(), {}, {64, 1});
  for (int round = 0; round < 8; ++round) {
    std::vector<Portfolio::Seen> seen;
    for (const Pick& pick : portfolio.Propose(8)) {
      seen.push_back({pick, round % 2 == 0 ? Ending::kFailed : Ending::kNotMade, 0});
    }
    portfolio.Learn(seen);
  }
  for (int t = 0; t < static_cast<int>(kSizes.size()); ++t) {
    EXPECT_EQ(portfolio.task(t).best(), -1);
    EXPECT_EQ(portfolio.task(t).best_ns(), 0);
  }
}

TEST(PortfolioTest, TrialsGoWhereTheTimeIs) {
  const SyntheticDevice device({1000, 1000, 1000, 64000});
  Portfolio portfolio(device.Tasks(), {}, {80, 1});
  Tune(device, portfolio, 80);
  for (int t = 0; t < 3; ++t) {
    EXPECT_GT(portfolio.task(t).trials(), 0);
    EXPECT_GT(portfolio.task(3).trials(), 2 * portfolio.task(t).trials());
  }
}

}  // namespace
}  // namespace mlc::server
