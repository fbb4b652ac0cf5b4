#include "server/workers/worker_health.h"

#include <gmock/gmock.h>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;
using State = WorkerHealth::State;

HealthTerms Terms() {
  HealthTerms terms;
  terms.canaries = true;
  terms.canary_every_ms = 1000;
  terms.max_canary_failures = 2;
  terms.max_failures_in_a_row = 3;
  terms.max_bad_results = 2;
  terms.first_backoff_ms = 100;
  terms.longest_backoff_ms = 300;
  return terms;
}

WorkerHealth Ready() {
  WorkerHealth health(Terms());
  health.RecordContact("w", "1", 0);
  health.CanarySent("w");
  (void)health.CanaryEnded("w", Status(), 0);
  return health;
}

TEST(WorkerHealthTest, AWorkerShowsFirstThatItCanMeasure) {
  WorkerHealth health(Terms());
  EXPECT_FALSE(health.IsReady("w"));
  health.RecordContact("w", "1", 0);
  EXPECT_FALSE(health.IsReady("w"));
  EXPECT_TRUE(health.CanaryIsDue("w", 0));
  health.CanarySent("w");
  EXPECT_FALSE(health.CanaryIsDue("w", 0)) << "one is under way";
  health.CanaryLost("w");
  EXPECT_TRUE(health.CanaryIsDue("w", 0));
  health.CanarySent("w");
  EXPECT_FALSE(health.CanaryEnded("w", Status(), 5));
  EXPECT_TRUE(health.IsReady("w"));
  EXPECT_FALSE(health.CanaryIsDue("w", 1000));
  EXPECT_TRUE(health.CanaryIsDue("w", 1005)) << "and again now and then";
  EXPECT_TRUE(health.IsReady("w")) << "meanwhile it works";
}

TEST(WorkerHealthTest, ARestartIsTestedAndDoesNotWashClean) {
  WorkerHealth health = Ready();
  health.RecordContact("w", "2", 10);
  EXPECT_EQ(health.SummaryOf("w").state, State::kUntested);
  health.Quarantine("w", "smells", 10);
  health.RecordContact("w", "3", 20);
  EXPECT_EQ(health.SummaryOf("w").state, State::kQuarantined);
  EXPECT_EQ(health.SummaryOf("w").why, "smells");
}

TEST(WorkerHealthTest, TwoFailedCanariesIsolateUntilOneIsPassedAfterAWhile) {
  WorkerHealth health(Terms());
  health.RecordContact("w", "1", 0);
  health.CanarySent("w");
  EXPECT_FALSE(health.CanaryEnded("w", Internal("twice as slow"), 0));
  EXPECT_TRUE(health.CanaryIsDue("w", 0)) << "one failure may be a coincidence";
  health.CanarySent("w");
  EXPECT_TRUE(health.CanaryEnded("w", Internal("twice as slow"), 0));
  EXPECT_THAT(health.SummaryOf("w").why, HasSubstr("twice as slow"));
  EXPECT_FALSE(health.CanaryIsDue("w", 99));
  EXPECT_TRUE(health.CanaryIsDue("w", 100));
  health.CanarySent("w");
  EXPECT_FALSE(health.CanaryEnded("w", Internal("twice as slow"), 100)) << "no news";
  EXPECT_FALSE(health.CanaryIsDue("w", 299)) << "the wait doubles";
  health.CanarySent("w");
  (void)health.CanaryEnded("w", Status(), 300);
  EXPECT_TRUE(health.IsReady("w"));
  EXPECT_EQ(health.SummaryOf("w").why, "");
}

TEST(WorkerHealthTest, FailuresInARowIsolateAndResultsInBetweenDoNot) {
  WorkerHealth health = Ready();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(health.RecordFailure("w", "no memory", 0));
    EXPECT_FALSE(health.RecordFailure("w", "no memory", 0));
    health.RecordResult("w");
  }
  EXPECT_FALSE(health.RecordFailure("w", "no memory", 0));
  EXPECT_FALSE(health.RecordFailure("w", "no memory", 0));
  EXPECT_TRUE(health.RecordFailure("w", "no memory", 0));
  EXPECT_FALSE(health.IsReady("w"));
  EXPECT_THAT(health.SummaryOf("w").why, HasSubstr("no memory"));
}

TEST(WorkerHealthTest, FalseResultsIsolateEvenWithGoodOnesInBetween) {
  WorkerHealth health = Ready();
  EXPECT_FALSE(health.ReportBadResult("w", "negative", 0));
  for (int i = 0; i < 100; ++i) health.RecordResult("w");
  EXPECT_TRUE(health.ReportBadResult("w", "negative", 0));
  EXPECT_FALSE(health.IsReady("w"));
}

TEST(WorkerHealthTest, AnAdminHoldEndsOnlyByAnAdministrator) {
  WorkerHealth health = Ready();
  health.Quarantine("w", "fan broken", 0);
  EXPECT_FALSE(health.CanaryIsDue("w", 1'000'000));
  health.Forget("w");
  EXPECT_EQ(health.SummaryOf("w").state, State::kQuarantined);
  health.Release("w");
  EXPECT_TRUE(health.CanaryIsDue("w", 0)) << "released, and tested";
  health.Drain("w", "moves");
  EXPECT_TRUE(health.Draining("w"));
  EXPECT_FALSE(health.CanaryIsDue("w", 0));
  health.RecordContact("w", "2", 0);
  EXPECT_FALSE(health.Draining("w")) << "it has left and is back";
}

TEST(WorkerHealthTest, AdminHoldsAreRestored) {
  WorkerHealth before = Ready();
  before.Quarantine("w", "fan broken", 0);
  before.RecordContact("v", "1", 0);
  before.Drain("v", "moves");
  EXPECT_EQ(before.AdminHoldOf("nobody").quarantine, "");
  WorkerHealth after{HealthTerms{.canaries = true}};
  for (const char* name : {"v", "w"}) after.RestoreAdminHold(name, before.AdminHoldOf(name));
  EXPECT_EQ(after.HeldByAdmin(), std::vector<std::string>{"w"});
  after.RecordContact("w", "2", 0);
  EXPECT_FALSE(after.IsReady("w"));
  EXPECT_FALSE(after.CanaryIsDue("w", 1'000'000));
  EXPECT_EQ(after.SummaryOf("w").why, "fan broken");
  after.RecordContact("v", "1", 0);
  EXPECT_TRUE(after.Draining("v")) << "the same start of the worker";
  EXPECT_EQ(after.SummaryOf("v").why, "moves");
  after.RecordContact("v", "2", 0);
  EXPECT_FALSE(after.Draining("v")) << "it has left and is back";
  EXPECT_TRUE(after.CanaryIsDue("v", 0));
  after.Release("w");
  EXPECT_EQ(after.AdminHoldOf("w").quarantine, "");
}

TEST(WorkerHealthTest, ReportsAboutAForgottenWorkerDoNotBringItBack) {
  WorkerHealth health = Ready();
  health.Forget("w");
  EXPECT_FALSE(health.ReportBadResult("w", "late", 10));
  EXPECT_FALSE(health.RecordFailure("w", "late", 10));
  EXPECT_FALSE(health.CanaryEnded("w", Internal("late"), 10));
  health.RecordResult("w");
  health.CanarySent("w");
  health.CanaryLost("w");
  EXPECT_EQ(health.size(), 0);
  EXPECT_FALSE(health.IsReady("w"));
}

TEST(WorkerHealthTest, WorkersInQuarantineOrDrainingAreExcluded) {
  WorkerHealth health = Ready();
  EXPECT_FALSE(health.IsExcluded("w"));
  EXPECT_FALSE(health.IsExcluded("nobody"));
  health.Drain("w", "moves");
  EXPECT_TRUE(health.IsExcluded("w"));
  health.Release("w");
  EXPECT_FALSE(health.IsExcluded("w"));
  health.Quarantine("w", "smells", 10);
  EXPECT_TRUE(health.IsExcluded("w"));
}

TEST(WorkerHealthTest, WithoutCanariesEveryWorkerIsReady) {
  WorkerHealth health{HealthTerms{}};
  health.RecordContact("w", "1", 0);
  EXPECT_TRUE(health.IsReady("w"));
  EXPECT_FALSE(health.CanaryIsDue("w", 1'000'000));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(health.RecordFailure("w", "x", 0));
}

}  // namespace
}  // namespace mlc::server
