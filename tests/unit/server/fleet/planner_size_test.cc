// How many workers the demand asks for, and which ones of too many leave.
#include "tests/unit/server/fleet/planner_fixture.h"

namespace mlc::server::fleet {
namespace {

TEST_F(PlannerTest, StartsWhatTheQueueNeedsAndNoMoreThanThePoolHas) {
  EXPECT_EQ(Starts(), 0u);
  Work(35);
  EXPECT_EQ(Starts(), 4u);
  EXPECT_EQ(Starts(), 0u);
  Work(1'000);
  EXPECT_EQ(Starts(), 4u);
  EXPECT_EQ(placed_.size(), 8u);
}

TEST_F(PlannerTest, AJobWithoutTrialsStillGetsAWorkerToMeasureItsPeaks) {
  demand_.work = {{{.target_class = kCpu}, 1, 0, 0}};
  EXPECT_EQ(Starts(), 1u);
}

TEST_F(PlannerTest, WorkOfAnotherClassStartsNothing) {
  Work(100, kGpu);
  EXPECT_EQ(Starts(), 0u);
}

TEST_F(PlannerTest, AWorkersRealClassOutweighsThePattern) {
  Work(5);
  Round();
  Round();
  Work(100, "target v1 cpu arch=x86_64 isa=avx2 threads=4");
  EXPECT_EQ(Starts(), 0u);
}

TEST_F(PlannerTest, ASurplusIsDrainedAfterTheIdleTimeOnly) {
  Work(40);
  Round();
  Work(10);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(Round(25'000).empty());
  std::vector<std::string> drained;
  for (int i = 0; i < 5; ++i) {
    for (const std::string& name : Names(Round(25'000), ActionKind::kDrain))
      drained.push_back(name);
  }
  EXPECT_EQ(drained.size(), 3u);
  EXPECT_EQ(placed_.size(), 1u);
}

TEST_F(PlannerTest, ABriefDipOfTheDemandChangesNothing) {
  Work(40);
  Round();
  for (int i = 0; i < 40; ++i) {
    Work(i % 2 == 0 ? 0 : 40);
    EXPECT_TRUE(Round(100'000).empty()) << i;
  }
}

TEST_F(PlannerTest, DrainsTheIdleBeforeTheBusy) {
  Work(40);
  Round();
  for (size_t i = 0; i < 3; ++i) demand_.workers[i].held = 5;
  Work(25);
  Round(290'000);
  const std::string idle = demand_.workers[3].name;
  Round();
  EXPECT_THAT(Names(Round(20'000), ActionKind::kDrain), ::testing::ElementsAre(idle));
}

TEST_F(PlannerTest, OneWorkerWithTwoDevicesIsOneWorker) {
  placed_ = {{"lab-cpu-old-1", "cpu", PlacedState::kRunning, false, ""}};
  Attach("lab-cpu-old-1-cpu");
  Attach("lab-cpu-old-1-gpu2");
  Work(10);
  EXPECT_TRUE(Round().empty());
  EXPECT_EQ(planner_.View("cpu").attached, 1);
}

TEST(PoolsTest, WorkThatThePoolInFrontCannotTakeGoesToTheNext) {
  PoolTerms first = CpuPool(), second = CpuPool();
  first.name = "near";
  first.max = 2;
  second.name = "far";
  Planner planner("lab", "inc", {first, second});
  Demand demand;
  demand.work = {{{.target_class = kCpu}, 1, 45, 0}};
  (void)planner.Plan(demand, std::vector<PlacedWorker>(), 1);
  EXPECT_EQ(planner.View("near").want, 2);
  EXPECT_EQ(planner.View("far").want, 3);
}

TEST(PoolsTest, TheLeastNumberStaysWithoutWork) {
  PoolTerms terms = CpuPool();
  terms.min = 2;
  Planner planner("lab", "inc", {terms});
  EXPECT_EQ(planner.Plan({}, std::vector<PlacedWorker>(), 1).size(), 2u);
}

}  // namespace
}  // namespace mlc::server::fleet
