// Work that the workers of a pool cannot do.
#include "tests/unit/server/fleet/planner_fixture.h"

namespace mlc::server::fleet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Needs kKnown = {kCpu, "contraction/3", 0, false};
const Needs kUnknown = {kCpu, "contraction/9", 0, false};

TEST_F(PlannerTest, OfAClassThatNoPoolHasStartsNothing) {
  Work(100, kGpu);
  EXPECT_EQ(Starts(), 0u);
  EXPECT_THAT(planner_.Unserved(), ElementsAre(Needs{.target_class = kGpu}));
  Work(5);
  EXPECT_EQ(Starts(), 1u);
  EXPECT_THAT(planner_.Unserved(), IsEmpty());
}

TEST_F(PlannerTest, OnceAWorkerHasToldWhatItBuildsNoOtherIsStartedForTheRest) {
  offer_.kernels = {"contraction/3"};
  demand_.work = {{kUnknown, 0, 20, 0}};
  EXPECT_EQ(Starts(), 2u) << "nobody knows yet";
  EXPECT_EQ(Starts(), 0u);
  EXPECT_THAT(planner_.Unserved(), ElementsAre(kUnknown));
  // They leave when they have been idle, and nobody comes after them.
  EXPECT_EQ(Names(Round(CpuPool().idle_ms + 1), ActionKind::kDrain).size(), 2u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Starts(60'000), 0u);
  EXPECT_EQ(planner_.View("cpu").want, 0);
  demand_.work.push_back({kKnown, 0, 10, 0});
  EXPECT_EQ(Starts(), 1u);
}

TEST_F(PlannerTest, TrialsOfManyKernelsShareWorkers) {
  for (int i = 0; i < 10; ++i) {
    Needs needs = kKnown;
    needs.memory_bytes = 1 << i;
    demand_.work.push_back({needs, 0, 1, 0});
  }
  EXPECT_EQ(Starts(), 1u);
}

TEST(AblePoolsTest, WorkGoesToThePoolThatCanDoIt) {
  PoolTerms small = CpuPool(), large = CpuPool();
  small.name = "small";
  small.declared.memory_bytes = 1 << 20;
  large.name = "large";
  Planner planner("lab", "inc", {small, large});
  Demand demand;
  demand.work = {{{kCpu, "contraction/3", 1 << 10, false}, 0, 15, 0},
                 {{kCpu, "contraction/3", 1 << 30, false}, 0, 25, 0}};
  (void)planner.Plan(demand, std::vector<PlacedWorker>(), 1);
  EXPECT_EQ(planner.View("small").want, 2);
  EXPECT_EQ(planner.View("large").want, 3);
}

TEST(AblePoolsTest, APoolThatMayHaveNoWorkersServesNothing) {
  PoolTerms closed = CpuPool();
  closed.max = 0;
  Planner planner("lab", "inc", {closed});
  Demand demand;
  demand.work = {{kKnown, 0, 1, 0}};
  (void)planner.Plan(demand, std::vector<PlacedWorker>(), 1);
  EXPECT_THAT(planner.Unserved(), ElementsAre(kKnown));
}

}  // namespace
}  // namespace mlc::server::fleet
