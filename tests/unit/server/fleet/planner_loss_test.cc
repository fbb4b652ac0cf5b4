// Workers that fall silent, are taken away or leave, and their successors.
#include "tests/unit/server/fleet/planner_fixture.h"

namespace mlc::server::fleet {
namespace {

TEST_F(PlannerTest, ReplacesASilentWorkerThoughTheProviderCallsItRunning) {
  Work(20);
  Settle();
  obeys_ = false;
  const std::string silent = demand_.workers[0].name;
  frozen_ = {silent};
  for (PlacedWorker& worker : placed_) worker.where = "node7: ImagePullBackOff";
  int64_t waited = 0;
  std::vector<Action> actions;
  while (Names(actions, ActionKind::kStart).empty() && waited < 60'000) {
    actions = Round();
    waited += 1'000;
  }
  EXPECT_LT(waited, 60'000);
  EXPECT_THAT(Names(actions, ActionKind::kKill), ::testing::ElementsAre(silent));
  for (const Action& action : actions) {
    if (action.kind != ActionKind::kKill) continue;
    EXPECT_EQ(action.why, "no contact with it (node7: ImagePullBackOff)");
  }
  EXPECT_EQ(Names(actions, ActionKind::kStart).size(), 1u);
}

TEST_F(PlannerTest, ReplacesARequeuedWorkerAtOnceAndEndsTheDuplicateThatComesBack) {
  Work(20);
  Settle();
  obeys_ = false;
  const std::string lost = placed_[0].name;
  frozen_ = {lost};
  placed_[0].state = PlacedState::kPending;
  placed_[0].requeued = true;
  size_t starts = 0;
  for (int i = 0; i < 19; ++i) starts += Starts();
  EXPECT_EQ(starts, 1u);
  EXPECT_EQ(placed_.size(), 3u) << "the requeued one is still queued: ending it was refused";
  // The batch system starts it again, and it calls.
  placed_[0].state = PlacedState::kRunning;
  frozen_.clear();
  for (SeenWorker& worker : demand_.workers) worker.silent_ms = 0;
  const std::vector<Action> actions = Round();
  EXPECT_EQ(Names(actions, ActionKind::kStart).size(), 0u);
  EXPECT_EQ(Names(actions, ActionKind::kDrain).size(), 1u) << "three work, two are wanted";
}

TEST_F(PlannerTest, WithoutTheProvidersAnswerNothingStartsAndNobodyIsForgotten) {
  Work(20);
  Round();
  answers_ = false;
  Work(80);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Starts(), 0u);
  EXPECT_EQ(planner_.View("cpu").attached, 2);
  answers_ = true;
  EXPECT_EQ(Starts(), 6u);
}

TEST_F(PlannerTest, AListWithoutAWorkerThatCallsIsStale) {
  Work(20);
  Settle();
  placed_.clear();
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Round().empty());
}

TEST_F(PlannerTest, AWorkerThatAnnouncesItsEndIsReplacedWhileItDrains) {
  Work(20);
  Settle();
  demand_.workers[0].draining = true;
  EXPECT_EQ(Starts(), 1u);
  EXPECT_EQ(Starts(), 0u);
}

TEST_F(PlannerTest, AWorkerWhosePlaceIsTakenAwayIsDrainedAndReplacedAtOnce) {
  Work(20);
  Round();
  Round();
  obeys_ = false;
  const std::string evicted = placed_[0].name;
  placed_[0].evicted = "its node is drained";
  const std::vector<Action> actions = Round();
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_EQ(actions[0].kind, ActionKind::kDrain);
  EXPECT_EQ(actions[0].worker, evicted);
  EXPECT_EQ(actions[0].why, "its node is drained");
  EXPECT_EQ(actions[1].kind, ActionKind::kStart);
  EXPECT_TRUE(Round().empty()) << "it is told once";
  EXPECT_EQ(planner_.View("cpu").failures, 0) << "young, but no failed start";
}

TEST_F(PlannerTest, WhatIsRequeuedAfterItsDrainingIsEnded) {
  Work(20);
  Settle();
  obeys_ = false;
  const std::string evicted = placed_[0].name;
  placed_[0].evicted = "preempted";
  EXPECT_EQ(Starts(), 1u);
  // It did not finish in time.
  frozen_ = {evicted};
  placed_[0] = {evicted, "cpu", PlacedState::kPending, true, ""};
  const std::vector<Action> actions = Round();
  EXPECT_THAT(Names(actions, ActionKind::kKill), ::testing::ElementsAre(evicted));
  EXPECT_EQ(Names(actions, ActionKind::kStart).size(), 0u);
}

TEST_F(PlannerTest, WorkersThatTheServerStillRemembersAreNotFailedStarts) {
  Work(20);
  Settle();
  const std::string dead = placed_[0].name;
  std::erase_if(placed_, [&](const PlacedWorker& worker) { return worker.name == dead; });
  frozen_ = {dead};
  size_t starts = 0;
  for (int i = 0; i < 100; ++i) starts += Starts();
  EXPECT_EQ(starts, 1u);
  EXPECT_EQ(planner_.View("cpu").failures, 0);
  EXPECT_EQ(planner_.View("cpu").attached, 2);
}

TEST_F(PlannerTest, ADrainedWorkerThatStaysIsKilled) {
  Work(20);
  Round();
  obeys_ = false;
  Work(0);
  Round(200'000);
  EXPECT_EQ(Names(Round(110'000), ActionKind::kDrain).size(), 2u);
  EXPECT_EQ(Names(Round(119'000), ActionKind::kKill).size(), 0u);
  EXPECT_EQ(Names(Round(2'000), ActionKind::kKill).size(), 2u);
  EXPECT_EQ(Names(Round(5'000), ActionKind::kKill).size(), 0u);
  EXPECT_EQ(Names(Round(6'000), ActionKind::kKill).size(), 2u)
      << "again: the first may have failed";
}

}  // namespace
}  // namespace mlc::server::fleet
