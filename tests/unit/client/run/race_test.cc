#include "client/run/race.h"

#include <gtest/gtest.h>

namespace mlc::client {
namespace {

// A library that takes so long on a machine whose speed `slowness` changes with every call.
struct Machine {
  double slowness = 1;
  int calls = 0;

  TimeRuns Library(double ms, int* runs = nullptr) {
    return [this, ms, runs](int count) -> Result<std::vector<double>> {
      slowness *= 1.0005;
      ++calls;
      if (runs != nullptr) *runs += count;
      return std::vector<double>(static_cast<size_t>(count), ms * 1e6 * slowness);
    };
  }
};

TEST(RaceTest, TheQuotientIsOfTimesJustAfterAnother) {
  Machine machine;
  const std::vector<TimeRuns> libraries = {machine.Library(2), machine.Library(1.9),
                                           machine.Library(1.98)};
  const auto raced = Race(libraries, {0.1, 4});
  ASSERT_TRUE(raced.ok());
  ASSERT_EQ(raced->size(), 3u);
  EXPECT_EQ((*raced)[0].quotient, 1);
  EXPECT_GT((*raced)[0].latency.median, 2);
  EXPECT_NEAR((*raced)[1].quotient, 0.95, 0.002);
  EXPECT_NEAR((*raced)[2].quotient, 0.99, 0.002);
  EXPECT_EQ((*raced)[2].rounds, 5);
}

TEST(RaceTest, WhatIsClearlySlowerEndsEarly) {
  Machine machine;
  int far = 0, near = 0;
  const std::vector<TimeRuns> libraries = {machine.Library(2), machine.Library(3, &far),
                                           machine.Library(2.035, &near), machine.Library(1.99)};
  const auto raced = Race(libraries, {0.1, 4});
  ASSERT_TRUE(raced.ok());
  EXPECT_EQ((*raced)[1].rounds, 1);
  EXPECT_NEAR((*raced)[1].quotient, 1.5, 0.01);
  EXPECT_EQ((*raced)[2].rounds, 2);
  EXPECT_EQ((*raced)[3].rounds, 5);
  EXPECT_LT(far, near);
}

TEST(RaceTest, RunsFillTheTimeThatIsGiven) {
  Machine machine;
  int runs = 0;
  const std::vector<TimeRuns> libraries = {machine.Library(2), machine.Library(2, &runs)};
  ASSERT_TRUE(Race(libraries, {1, 1}).ok());
  // Five rounds of 0.2 s, and one run in each that warms the caches.
  EXPECT_NEAR(runs, 500, 30);
  runs = 0;
  ASSERT_TRUE(Race(libraries, {0, 3}).ok());
  EXPECT_EQ(runs, 20) << "no fewer than the least";
}

TEST(RaceTest, OneAloneIsTimed) {
  Machine machine;
  const std::vector<TimeRuns> libraries = {machine.Library(2)};
  const auto raced = Race(libraries, {0.1, 1});
  ASSERT_TRUE(raced.ok());
  EXPECT_NEAR((*raced)[0].latency.median, 2, 0.05);
}

TEST(RaceTest, AnErrorOfAnotherIsItsOwnAndOneOfTheFirstEnds) {
  Machine machine;
  const TimeRuns broken = [](int) -> Result<std::vector<double>> { return Internal("it broke"); };
  const std::vector<TimeRuns> second = {machine.Library(2), broken, machine.Library(1.9)};
  const auto raced = Race(second, {0.1, 1});
  ASSERT_TRUE(raced.ok());
  EXPECT_EQ((*raced)[1].error, "it broke");
  EXPECT_EQ((*raced)[1].rounds, 0);
  EXPECT_LT((*raced)[2].quotient, 1);
  const std::vector<TimeRuns> first = {broken, machine.Library(2)};
  EXPECT_EQ(Race(first, {0.1, 1}).status().message(), "it broke");
}

}  // namespace
}  // namespace mlc::client
