#include "server/fleet/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::server::fleet {
namespace {

using Kind = Action::Kind;

constexpr const char* kCpu = "target v1 cpu arch=x86_64 isa=avx512 threads=8";
constexpr const char* kGpu = "target v1 cuda arch=sm_90a sms=132";

PoolTerms CpuPool() {
  PoolTerms terms;
  terms.name = "cpu";
  terms.classes = {"target v1 cpu *"};
  terms.max = 8;
  terms.trials_per_worker = 10;
  return terms;
}

// A provider and a server as the planner sees them: workers start at once unless a test says else.
class PlannerTest : public ::testing::Test {
 protected:
  explicit PlannerTest(PoolTerms terms = CpuPool()) : planner_("lab", "boot", {terms}) {}

  void Work(int64_t trials, const std::string& target_class = kCpu) {
    demand_.classes = {{target_class, trials > 0 ? 1 : 0, trials, 0}};
  }
  // One round; what it asks for happens.
  std::vector<Action> Round(int64_t passed_ms = 1'000) {
    now_ms_ += passed_ms;
    for (SeenWorker& worker : demand_.workers) {
      if (!frozen_.contains(worker.name)) continue;
      worker.silent_ms += passed_ms;
    }
    const auto placed = answers_ ? std::optional(placed_) : std::nullopt;
    const std::vector<Action> actions = planner_.Plan(demand_, placed, now_ms_);
    for (const Action& action : actions) {
      if (action.kind != Kind::kStart) {
        if (obeys_) Leave(action.worker);
        continue;
      }
      placed_.push_back({action.worker, action.pool, starts_as_, false, ""});
      if (starts_as_ == PlacedState::kRunning && attaches_) Attach(action.worker);
    }
    return actions;
  }
  // Workers are started, call, and are no beginners any more.
  void Settle() {
    Round();
    Round();
    Round(60'000);
  }
  void Attach(const std::string& name) { demand_.workers.push_back({name, kCpu, 0, 0, false}); }
  void Leave(const std::string& name) {
    std::erase_if(placed_, [&](const PlacedWorker& worker) { return worker.name == name; });
    std::erase_if(demand_.workers, [&](const SeenWorker& worker) { return worker.name == name; });
  }
  static std::vector<std::string> Names(const std::vector<Action>& actions, Kind kind) {
    std::vector<std::string> names;
    for (const Action& action : actions) {
      if (action.kind == kind) names.push_back(action.worker);
    }
    return names;
  }
  size_t Starts(int64_t passed_ms = 1'000) { return Names(Round(passed_ms), Kind::kStart).size(); }

  Planner planner_;
  Demand demand_;
  std::vector<PlacedWorker> placed_;
  std::set<std::string> frozen_;
  bool answers_ = true;
  bool attaches_ = true;
  bool obeys_ = true;
  PlacedState starts_as_ = PlacedState::kRunning;
  int64_t now_ms_ = 1'000'000;
};

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
  demand_.classes = {{kCpu, 1, 0, 0}};
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
    for (const std::string& name : Names(Round(25'000), Kind::kDrain)) drained.push_back(name);
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
  EXPECT_THAT(Names(Round(20'000), Kind::kDrain), ::testing::ElementsAre(idle));
}

TEST_F(PlannerTest, ReplacesASilentWorkerThoughTheProviderCallsItRunning) {
  Work(20);
  Settle();
  obeys_ = false;
  const std::string silent = demand_.workers[0].name;
  frozen_ = {silent};
  int64_t waited = 0;
  std::vector<Action> actions;
  while (Names(actions, Kind::kStart).empty() && waited < 60'000) {
    actions = Round();
    waited += 1'000;
  }
  EXPECT_LT(waited, 60'000);
  EXPECT_THAT(Names(actions, Kind::kKill), ::testing::ElementsAre(silent));
  EXPECT_EQ(Names(actions, Kind::kStart).size(), 1u);
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
  EXPECT_EQ(Names(actions, Kind::kStart).size(), 0u);
  EXPECT_EQ(Names(actions, Kind::kDrain).size(), 1u) << "three work, two are wanted";
}

TEST_F(PlannerTest, ARequeuedWorkerOfAnEarlierServerIsNotWaitedFor) {
  placed_ = {{"lab-cpu-old-1", "cpu", PlacedState::kPending, true, ""}};
  Work(5);
  const std::vector<Action> actions = Round();
  EXPECT_EQ(Names(actions, Kind::kStart).size(), 1u);
  EXPECT_THAT(Names(actions, Kind::kKill), ::testing::ElementsAre("lab-cpu-old-1"));
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
  EXPECT_EQ(Names(Round(2), Kind::kDrain).size(), 2u);
}

TEST_F(PlannerTest, OneWorkerWithTwoDevicesIsOneWorker) {
  placed_ = {{"lab-cpu-old-1", "cpu", PlacedState::kRunning, false, ""}};
  Attach("lab-cpu-old-1-cpu");
  Attach("lab-cpu-old-1-gpu2");
  Work(10);
  EXPECT_TRUE(Round().empty());
  EXPECT_EQ(planner_.View("cpu").attached, 1);
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
  EXPECT_EQ(actions[0].kind, Kind::kDrain);
  EXPECT_EQ(actions[0].worker, evicted);
  EXPECT_EQ(actions[0].why, "its node is drained");
  EXPECT_EQ(actions[1].kind, Kind::kStart);
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
  EXPECT_THAT(Names(actions, Kind::kKill), ::testing::ElementsAre(evicted));
  EXPECT_EQ(Names(actions, Kind::kStart).size(), 0u);
}

TEST_F(PlannerTest, WorkersOfAPoolThatIsNotThereAnyMoreAreDrained) {
  Work(5);
  obeys_ = false;
  placed_ = {{"lab-old-b-1", "old", PlacedState::kRunning, false, ""},
             {"lab-old-b-2", "old", PlacedState::kEnding, false, ""}};
  const std::vector<Action> actions = Round();
  EXPECT_THAT(Names(actions, Kind::kDrain), ::testing::ElementsAre("lab-old-b-1"));
  EXPECT_EQ(actions[0].why, "the fleet has no pool old any more");
  EXPECT_EQ(Names(actions, Kind::kStart).size(), 1u) << "its successor is one of a pool of ours";
  EXPECT_TRUE(Round().empty()) << "it is told once";
  // Its batch system starts it again.
  placed_[0].state = PlacedState::kPending;
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(Names(Round(), Kind::kDrain), ::testing::ElementsAre("lab-old-b-1"));
  }
  placed_[0].state = PlacedState::kRunning;
  EXPECT_THAT(Names(Round(), Kind::kDrain), ::testing::ElementsAre("lab-old-b-1"));
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
  EXPECT_EQ(Names(Round(110'000), Kind::kDrain).size(), 2u);
  EXPECT_EQ(Names(Round(119'000), Kind::kKill).size(), 0u);
  EXPECT_EQ(Names(Round(2'000), Kind::kKill).size(), 2u);
  EXPECT_EQ(Names(Round(5'000), Kind::kKill).size(), 0u);
  EXPECT_EQ(Names(Round(6'000), Kind::kKill).size(), 2u) << "again: the first may have failed";
}

TEST_F(PlannerTest, FailedStartsWaitLongerEachTimeAndOneGoodStartEndsThat) {
  Work(10);
  std::vector<int64_t> moments;
  while (moments.size() < 6) {
    for (const std::string& name : Names(Round(), Kind::kStart)) {
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
  const auto names = Names(Round(), Kind::kStart);
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
    kills += Names(actions, Kind::kKill).size();
    starts += Names(actions, Kind::kStart).size();
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

TEST(PoolsTest, WorkThatThePoolInFrontCannotTakeGoesToTheNext) {
  PoolTerms first = CpuPool(), second = CpuPool();
  first.name = "near";
  first.max = 2;
  second.name = "far";
  Planner planner("lab", "boot", {first, second});
  Demand demand;
  demand.classes = {{kCpu, 1, 45, 0}};
  (void)planner.Plan(demand, std::vector<PlacedWorker>(), 1);
  EXPECT_EQ(planner.View("near").want, 2);
  EXPECT_EQ(planner.View("far").want, 3);
}

TEST(PoolsTest, TheLeastNumberStaysWithoutWork) {
  PoolTerms terms = CpuPool();
  terms.min = 2;
  Planner planner("lab", "boot", {terms});
  EXPECT_EQ(planner.Plan({}, std::vector<PlacedWorker>(), 1).size(), 2u);
}

TEST(MatchesTest, StarsStandForAnyText) {
  EXPECT_TRUE(Matches("target v1 cpu *", kCpu));
  EXPECT_TRUE(Matches("*isa=avx512*threads=8", kCpu));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("a*b*c", "axxbyybzc"));
  EXPECT_FALSE(Matches("target v1 cpu *", kGpu));
  EXPECT_FALSE(Matches("a*b", "axc"));
  EXPECT_FALSE(Matches("", "x"));
}

}  // namespace
}  // namespace mlc::server::fleet
