// Starts that fail, or take long.
#include "tests/unit/server/fleet/planner_fixture.h"

namespace mlc::server::fleet {
namespace {

TEST_F(PlannerTest, FailedStartsWaitLongerEachTimeAndOneGoodStartEndsThat) {
  Work(10);
  std::vector<int64_t> moments;
  while (moments.size() < 6) {
    for (const std::string& name : Names(Round(), ActionKind::kStart)) {
      Leave(name);
      planner_.StartFailed(name, now_ms_);
      moments.push_back(now_ms_);
    }
  }
  for (size_t i = 1; i < moments.size(); ++i) {
    EXPECT_GE(moments[i] - moments[i - 1], int64_t{5'000} << (i - 1));
    EXPECT_LE(moments[i] - moments[i - 1], (int64_t{5'000} << (i - 1)) + 1'000);
  }
  EXPECT_EQ(planner_.View("cpu").failures, 6);
  while (Starts() == 0) continue;
  Settle();
  EXPECT_EQ(planner_.View("cpu").failures, 0);
}

TEST_F(PlannerTest, ARefusalOfManyStartsIsOneFailure) {
  Work(80);
  const auto names = Names(Round(), ActionKind::kStart);
  ASSERT_EQ(names.size(), 8u);
  for (const std::string& name : names) planner_.StartFailed(name, now_ms_);
  EXPECT_EQ(planner_.View("cpu").failures, 1);
}

TEST_F(PlannerTest, WorkersThatDieYoungAreFailedStarts) {
  Work(10);
  for (int i = 0; i < 60; ++i) {
    Round();
    if (!placed_.empty()) frozen_ = {placed_.front().name};
    placed_.clear();
  }
  EXPECT_GE(planner_.View("cpu").failures, 2);
}

TEST_F(PlannerTest, AWorkerThatRunsAndNeverCallsIsReplaced) {
  attaches_ = false;
  Work(10);
  Round();
  size_t kills = 0, starts = 0;
  for (int i = 0; i < 200; ++i) {
    const auto actions = Round();
    kills += Names(actions, ActionKind::kKill).size();
    starts += Names(actions, ActionKind::kStart).size();
  }
  EXPECT_EQ(kills, 1u);
  EXPECT_EQ(starts, 1u);
}

TEST_F(PlannerTest, AWorkerThatWaitsForAPlaceForDaysIsNoFailure) {
  starts_as_ = PlacedState::kPending;
  Work(10);
  Round();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Round(3'600'000).empty());
  EXPECT_EQ(planner_.View("cpu").failures, 0);
}

}  // namespace
}  // namespace mlc::server::fleet
