// A model in two variants on the simulated device: a product merged (task 0, once) or apart (task
// 1, three times), beside a task of both.
#include <gtest/gtest.h>

#include <string>

#include "server/search/portfolio.h"
#include "tests/unit/server/search/synthetic_space.h"

namespace mlc::server {
namespace {

struct Course {
  std::vector<int64_t> trials;  // by task
  std::vector<double> best_ns;
  std::string text;  // every pick

  double merged_ns() const { return best_ns[0] + best_ns[2]; }
  double apart_ns() const { return 3 * best_ns[1] + best_ns[2]; }
};

// `estimates`: what the tasks are said to take before anything is measured; 0: nothing.
Course Tune(double merged, double apart, int64_t trials, uint64_t seed = 1, int batch = 8,
            const std::vector<double>& estimates = {0, 0, 0}) {
  const SyntheticDevice device({merged, apart, 8000});
  std::vector<PortfolioTask> tasks = device.Tasks();
  for (size_t t = 0; t < tasks.size(); ++t) {
    if (estimates[t] > 0) tasks[t].prior_configs = {{{0, {2, 2, 1, 1, 0}}, true, estimates[t]}};
  }
  tasks[0].uses = {1, 0};
  tasks[1].uses = {0, 3};
  tasks[2].uses = {1, 1};
  Portfolio portfolio(std::move(tasks), {}, {trials, seed});
  Course course;
  std::vector<std::vector<Pick>> flight = {portfolio.Propose(batch), portfolio.Propose(batch)};
  for (int64_t proposed = 2 * batch; !flight.empty() && !flight[0].empty(); proposed += batch) {
    std::vector<Portfolio::Seen> seen;
    for (const Pick& pick : flight[0]) {
      const Point& point = portfolio.task(pick.task).pool().point(pick.candidate);
      seen.push_back(device.Measure(pick, point));
      course.text += std::to_string(pick.task) + ":" + std::to_string(pick.candidate) + ":" +
                     std::to_string(pick.repeat) + "\n";
    }
    portfolio.Learn(seen);
    flight.erase(flight.begin());
    if (proposed < trials) flight.push_back(portfolio.Propose(batch));
  }
  for (int t = 0; t < 3; ++t) {
    course.trials.push_back(portfolio.task(t).trials());
    course.best_ns.push_back(portfolio.task(t).best_ns());
  }
  return course;
}

TEST(PortfolioVariantsTest, TheFasterVariantWinsAndTheOtherGetsFewTrials) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    // Three products of 3,000 are faster than one of 16,000.
    const Course apart = Tune(16000, 3000, 300, seed);
    EXPECT_LT(apart.apart_ns(), apart.merged_ns());
    EXPECT_LT(4 * apart.trials[0], apart.trials[1]);
    // Three of 8,000 are slower.
    const Course merged = Tune(16000, 8000, 300, seed);
    EXPECT_LT(merged.merged_ns(), merged.apart_ns());
    EXPECT_LT(4 * merged.trials[1], merged.trials[0]);
    EXPECT_GT(merged.trials[1], 0) << "unknown without a measurement";
  }
}

// As in a job without the slower variant, give or take a few trials.
TEST(PortfolioVariantsTest, TheSlowerVariantCostsLittle) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Course both = Tune(16000, 8000, 200, seed);
    EXPECT_GT(both.trials[0] + both.trials[2], 160);
  }
}

TEST(PortfolioVariantsTest, AWrongEstimateRulesNoVariantOut) {
  const Course apart = Tune(16000, 3000, 200, 1, 8, {100, 1e6, 0});
  EXPECT_LT(apart.apart_ns(), apart.merged_ns());
  EXPECT_LT(3 * apart.trials[0], apart.trials[1]);
  const Course merged = Tune(16000, 8000, 200, 1, 8, {1e6, 100, 0});
  EXPECT_LT(merged.merged_ns(), merged.apart_ns());
  EXPECT_LT(3 * merged.trials[1], merged.trials[0]);
}

TEST(PortfolioVariantsTest, AVariantThatIsNearlyAsFastIsSearchedToo) {
  const Course near = Tune(16000, 5400, 300);
  EXPECT_GT(near.trials[1], near.trials[0] / 4);
  EXPECT_GT(near.trials[0], near.trials[1] / 4);
}

TEST(PortfolioVariantsTest, TheSameSeedGivesTheSamePicks) {
  EXPECT_EQ(Tune(16000, 5400, 160, 3).text, Tune(16000, 5400, 160, 3).text);
  EXPECT_NE(Tune(16000, 5400, 160, 3).text, Tune(16000, 5400, 160, 4).text);
}

// A task that only the variant behind uses waits for the first trials of the leader's tasks.
TEST(PortfolioVariantsTest, TheLeadersTasksComeFirst) {
  const Course first = Tune(16000, 8000, 2, 1, 1);
  EXPECT_EQ(first.trials, (std::vector<int64_t>{1, 0, 1}));
}

TEST(PortfolioVariantsTest, ABudgetThatNothingNeedsIsLeft) {
  const Course course = Tune(64000, 64000, 20000);
  EXPECT_LT(course.trials[0] + course.trials[1] + course.trials[2], 20000);
  EXPECT_LT(course.trials[1], 100);
}

}  // namespace
}  // namespace mlc::server
