#include "server/search/portfolio.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>

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
  const auto is_empty = [](const std::vector<Pick>& picks) { return picks.empty(); };
  // A batch may be empty because what is under way has to come back first.
  while (!std::all_of(flight.begin(), flight.end(), is_empty)) {
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

// The models are sure that both are slow.
TEST(PortfolioTest, TriesWhatIsFastOnOtherDevicesWhateverTheModelsPredict) {
  const SyntheticDevice device({8000});
  Portfolio earlier(device.Tasks(), {}, {100, 1});
  Tune(device, earlier, 100);
  std::vector<PortfolioTask> tasks = device.Tasks();
  const std::vector<Point> points = {{9, 0, 3, 3, 4}, {0, 5, 0, 0, 0}};
  for (const Point& point : points) tasks[0].of_other_devices.push_back({0, point});
  Portfolio portfolio(std::move(tasks), earlier.Gathered(), {100, 2});
  const std::vector<Pick> picks = portfolio.Propose(3);
  ASSERT_EQ(picks.size(), 3U);
  EXPECT_STREQ(picks[0].arm, "default");
  for (size_t i = 0; i < points.size(); ++i) {
    EXPECT_STREQ(picks[i + 1].arm, "transfer");
    EXPECT_EQ(portfolio.task(0).pool().point(picks[i + 1].candidate), points[i]);
  }
}

// A fourth of the trials at most, and one at least.
TEST(PortfolioTest, FewTrialsTakeFewConfigsOfOtherDevices) {
  const SyntheticDevice device({8000});
  const std::vector<Point> points = {{9, 0, 3, 3, 4}, {0, 5, 0, 0, 0}, {1, 5, 0, 0, 0}};
  for (const auto& [trials, taken] : {std::pair(2, 1), std::pair(8, 2), std::pair(12, 3)}) {
    std::vector<PortfolioTask> tasks = device.Tasks();
    for (const Point& point : points) tasks[0].of_other_devices.push_back({0, point});
    Portfolio portfolio(std::move(tasks), {}, {trials, 2});
    int transferred = 0;
    for (const Pick& pick : portfolio.Propose(trials)) {
      transferred += std::string_view(pick.arm) == "transfer" ? 1 : 0;
    }
    EXPECT_EQ(transferred, taken) << trials << " trials";
  }
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

TEST(PortfolioTest, EarlierJobsTrainTheModelsOfOtherShapes) {
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

// Of each task, transferred configs are tried before anything else.
TEST(PortfolioTest, WhatIsNotPredictedComesFirstThenTheHeaviest) {
  const SyntheticDevice device(kSizes);
  std::vector<PortfolioTask> tasks = device.Tasks();
  const Point good = {4, 4, 1, 2, 2}, second = {3, 5, 1, 2, 2};
  for (size_t t = 1; t < tasks.size(); ++t) {
    const double ns = device.TimeOf(static_cast<int>(t), good);
    tasks[t].prior_configs = {{{0, good}, true, ns}, {{0, second}, true, 1.1 * ns}};
  }
  Portfolio portfolio(std::move(tasks), {}, {100, 1});
  std::vector<int> order;
  for (const Pick& pick : portfolio.Propose(16)) {
    if (std::count(order.begin(), order.end(), pick.task) > 0) continue;
    order.push_back(pick.task);
    EXPECT_STREQ(pick.arm, pick.task == 0 ? "default" : "transfer");
    if (pick.task == 0) continue;
    EXPECT_EQ(portfolio.task(pick.task).pool().point(pick.candidate), good);
  }
  EXPECT_THAT(order, ::testing::ElementsAre(0, 3, 2, 1));
}

std::vector<PortfolioTask> Predicted(const SyntheticDevice& device, size_t count) {
  std::vector<PortfolioTask> tasks = device.Tasks();
  for (size_t t = 0; t < count; ++t) {
    const Point good = {4, 4, 1, 2, 2};
    tasks[t].prior_configs = {{{0, good}, true, device.TimeOf(static_cast<int>(t), good)}};
  }
  return tasks;
}

std::vector<int> TasksOf(const std::vector<Pick>& picks) {
  std::vector<int> tasks;
  for (const Pick& pick : picks) tasks.push_back(pick.task);
  return tasks;
}

TEST(PortfolioTest, PredictedTasksAreTriedInThreesUntilThereWereAsManyTrialsAsTasks) {
  const SyntheticDevice device(std::vector<double>(6, 8000));
  Portfolio portfolio(Predicted(device, 6), {}, {100, 1});
  EXPECT_THAT(TasksOf(portfolio.Propose(10)), ::testing::ElementsAre(0, 0, 0, 1, 1, 1, 2, 3, 4, 5));
}

TEST(PortfolioTest, AllThatIsPredictedIsMeasuredInTime) {
  const SyntheticDevice device({64000, 10, 10});
  Portfolio portfolio(Predicted(device, 3), {}, {100, 1});
  EXPECT_THAT(TasksOf(portfolio.Propose(5)), ::testing::ElementsAre(0, 0, 0, 1, 2));
  Portfolio few(Predicted(device, 3), {}, {4, 1});
  EXPECT_THAT(TasksOf(few.Propose(4)), ::testing::ElementsAre(0, 0, 1, 2));
}

TEST(PortfolioTest, TrialsGoWhereTransferPredictsMore) {
  const SyntheticDevice device({8000, 8000});
  const Point point = {4, 4, 1, 2, 2};
  const double ns = device.TimeOf(0, point);
  std::vector<PortfolioTask> tasks = device.Tasks();
  tasks[0].prior_configs = {{{0, point}, true, ns}};
  tasks[1].prior_configs = {{{0, point}, true, 0.7 * ns}};
  Portfolio portfolio(std::move(tasks), {}, {2, 1});
  std::vector<Portfolio::Seen> seen;
  for (const Pick& pick : portfolio.Propose(2)) seen.push_back({pick, Ending::kTimed, ns});
  ASSERT_EQ(seen.size(), 2u);
  portfolio.Learn(seen);
  std::map<int, int> trials;
  for (const Pick& pick : portfolio.Propose(8)) ++trials[pick.task];
  EXPECT_GT(trials[1], trials[0]);
  EXPECT_GT(trials[0], 0);
}

TEST(PortfolioTest, WhatFailsFirstIsFollowedByTheNextPriorConfig) {
  const SyntheticDevice device(kSizes);
  std::vector<PortfolioTask> tasks = device.Tasks();
  const Point bad = {4, 4, 1, 2, 2}, next = {3, 5, 1, 2, 2};
  tasks[0].prior_configs = {{{0, bad}, true, 1000}, {{0, next}, true, 1100}};
  const auto trials = static_cast<int64_t>(kSizes.size());
  Portfolio portfolio(std::move(tasks), {}, {trials, 1});
  const std::vector<Pick> first = portfolio.Propose(static_cast<int>(kSizes.size()));
  std::vector<Portfolio::Seen> seen;
  for (const Pick& pick : first) {
    seen.push_back(device.Measure(pick, portfolio.task(pick.task).pool().point(pick.candidate)));
    if (pick.task == 0) seen.back().ending = Ending::kFailed;
  }
  portfolio.Learn(seen);
  const std::vector<Pick> then = portfolio.Propose(1);
  ASSERT_EQ(then.size(), 1u);
  EXPECT_EQ(then[0].task, 0) << "the only one without a kernel, though the lightest";
  EXPECT_EQ(portfolio.task(0).pool().point(then[0].candidate), next);
}

TEST(PortfolioTest, SaysWhatToExpectOfATaskWithoutAKernel) {
  const SyntheticDevice device(kSizes);
  std::vector<PortfolioTask> tasks = device.Tasks();
  tasks[1].prior_configs = {{{0, {4, 4, 1, 2, 2}}, true, 8765}};
  Portfolio portfolio(std::move(tasks), {}, {100, 1});
  const TaskSearch& transferred = portfolio.task(1);
  EXPECT_EQ(transferred.estimate_ns(), 8765);
  EXPECT_EQ(transferred.pool().point(transferred.prior_config()), (Point{4, 4, 1, 2, 2}));
  const TaskSearch& cold = portfolio.task(0);
  EXPECT_EQ(cold.pool().point(cold.prior_config()), SyntheticSource(4000).Defaults()[0].point);
  EXPECT_NEAR(cold.estimate_ns(), std::exp(cold.pool().log_estimate(cold.prior_config())), 1)
      << "nothing learned yet";
  EXPECT_EQ(transferred.best_ns(), 0);
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
  EXPECT_NEAR(picks[0].early_stop_ns, 1.3 * device.TimeOf(0, good), 1);
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

// Where earlier jobs have a better config, the default need not be tried early, but the gain is
// reported over it.
TEST(PortfolioTest, ADefaultThatWasLeftOutIsMeasuredBeforeTheEnd) {
  const SyntheticDevice device(kSizes);
  const SyntheticDevice others({3000, 6000, 12000, 32000, 90000});
  Portfolio before(others.Tasks(), {}, {200, 1});
  Tune(others, before, 200);
  for (const int64_t trials : {200, 32}) {
    std::vector<PortfolioTask> tasks = device.Tasks();
    for (PortfolioTask& task : tasks) task.prior_configs = {{{0, {4, 4, 1, 2, 2}}, true, 8765}};
    Portfolio after(std::move(tasks), before.Gathered(), {trials, 1});
    const Course course = Tune(device, after, trials);
    const size_t early = 100;  // trials
    std::istringstream lines(course.text);
    std::string line;
    for (size_t i = 0; i < early && std::getline(lines, line); ++i) {
      EXPECT_THAT(line, ::testing::Not(::testing::EndsWith("default"))) << "trial " << i;
    }
    for (int t = 0; t < static_cast<int>(kSizes.size()); ++t) {
      EXPECT_EQ(after.task(t).default_ns() > 0, trials == 200) << "task " << t;
    }
  }
}

TEST(PortfolioTest, SaysWhyItEndsEarly) {
  const SyntheticDevice device({8000});
  Portfolio portfolio(device.Tasks(), {}, {20000, 1});
  const Course course = Tune(device, portfolio, 20000);
  EXPECT_LT(course.quality.size(), 20000u);
  EXPECT_TRUE(portfolio.Done());
  EXPECT_THAT(portfolio.WhyDone(), ::testing::HasSubstr("of 1 tasks"));
  EXPECT_THAT(course.text, ::testing::HasSubstr(":1:verify")) << "what is left confirms";
}

}  // namespace
}  // namespace mlc::server
