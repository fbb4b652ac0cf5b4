// Workers that an earlier server of the fleet left.
#include "tests/unit/server/fleet/planner_fixture.h"

namespace mlc::server::fleet {
namespace {

TEST_F(PlannerTest, ARequeuedWorkerOfAnEarlierServerIsNotWaitedFor) {
  placed_ = {{"lab-cpu-old-1", "cpu", PlacedState::kPending, true, ""}};
  Work(5);
  const std::vector<Action> actions = Round();
  EXPECT_EQ(Names(actions, ActionKind::kStart).size(), 1u);
  EXPECT_THAT(Names(actions, ActionKind::kKill), ::testing::ElementsAre("lab-cpu-old-1"));
}

TEST_F(PlannerTest, TakesOverTheWorkersOfAnEarlierServer) {
  placed_ = {{"lab-cpu-old-1", "cpu", PlacedState::kRunning, false, ""},
             {"lab-cpu-old-2", "cpu", PlacedState::kPending, false, ""}};
  Work(20);
  EXPECT_EQ(Starts(), 0u);
}

// Jobs that go on have not filled their queues when a server begins.
TEST_F(PlannerTest, DrainsNoWorkerOfAnEarlierServerBeforeTheIdleTime) {
  for (int n = 1; n <= 3; ++n) {
    placed_.push_back(
        {"lab-cpu-before-" + std::to_string(n), "cpu", PlacedState::kRunning, false, ""});
    Attach(placed_.back().name);
  }
  Work(1);
  EXPECT_TRUE(Round().empty());
  EXPECT_TRUE(Round(CpuPool().idle_ms - 1).empty());
  EXPECT_EQ(Names(Round(2), ActionKind::kDrain).size(), 2u);
}

TEST_F(PlannerTest, WorkersOfAPoolThatIsNotThereAnyMoreAreDrained) {
  Work(5);
  obeys_ = false;
  placed_ = {{"lab-old-b-1", "old", PlacedState::kRunning, false, ""},
             {"lab-old-b-2", "old", PlacedState::kEnding, false, ""}};
  const std::vector<Action> actions = Round();
  EXPECT_THAT(Names(actions, ActionKind::kDrain), ::testing::ElementsAre("lab-old-b-1"));
  EXPECT_EQ(actions[0].why, "the fleet has no pool old any more");
  EXPECT_EQ(Names(actions, ActionKind::kStart).size(), 1u)
      << "its successor is one of a pool of ours";
  EXPECT_TRUE(Round().empty()) << "it is told once";
  // Its batch system starts it again.
  placed_[0].state = PlacedState::kPending;
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(Names(Round(), ActionKind::kDrain), ::testing::ElementsAre("lab-old-b-1"));
  }
  placed_[0].state = PlacedState::kRunning;
  EXPECT_THAT(Names(Round(), ActionKind::kDrain), ::testing::ElementsAre("lab-old-b-1"));
}

}  // namespace
}  // namespace mlc::server::fleet
