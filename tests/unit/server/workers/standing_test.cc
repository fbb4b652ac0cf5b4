#include "server/workers/standing.h"

#include <gmock/gmock.h>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;
using State = Standings::State;

StandingTerms Terms() {
  StandingTerms terms;
  terms.canaries = true;
  terms.canary_every_ms = 1000;
  terms.canary_tries = 2;
  terms.failures_in_a_row = 3;
  terms.false_results = 2;
  terms.first_backoff_ms = 100;
  terms.longest_backoff_ms = 300;
  return terms;
}

Standings Ready() {
  Standings standings(Terms());
  standings.Met("w", "1", 0);
  standings.CanarySent("w");
  (void)standings.CanaryEnded("w", Status(), 0);
  return standings;
}

TEST(StandingsTest, AWorkerShowsFirstThatItCanMeasure) {
  Standings standings(Terms());
  EXPECT_FALSE(standings.MayWork("w"));
  standings.Met("w", "1", 0);
  EXPECT_FALSE(standings.MayWork("w"));
  EXPECT_TRUE(standings.WantsCanary("w", 0));
  standings.CanarySent("w");
  EXPECT_FALSE(standings.WantsCanary("w", 0)) << "one is under way";
  standings.CanaryLost("w");
  EXPECT_TRUE(standings.WantsCanary("w", 0));
  standings.CanarySent("w");
  EXPECT_FALSE(standings.CanaryEnded("w", Status(), 5));
  EXPECT_TRUE(standings.MayWork("w"));
  EXPECT_FALSE(standings.WantsCanary("w", 1000));
  EXPECT_TRUE(standings.WantsCanary("w", 1005)) << "and again now and then";
  EXPECT_TRUE(standings.MayWork("w")) << "meanwhile it works";
}

TEST(StandingsTest, ARestartIsTestedAndDoesNotWashClean) {
  Standings standings = Ready();
  standings.Met("w", "2", 10);
  EXPECT_EQ(standings.LineOf("w").state, State::kUntested);
  standings.Quarantine("w", "smells", 10);
  standings.Met("w", "3", 20);
  EXPECT_EQ(standings.LineOf("w").state, State::kQuarantined);
  EXPECT_EQ(standings.LineOf("w").why, "smells");
}

TEST(StandingsTest, TwoFailedCanariesIsolateUntilOneIsPassedAfterAWhile) {
  Standings standings(Terms());
  standings.Met("w", "1", 0);
  standings.CanarySent("w");
  EXPECT_FALSE(standings.CanaryEnded("w", Internal("twice as slow"), 0));
  EXPECT_TRUE(standings.WantsCanary("w", 0)) << "anybody may have a bad moment";
  standings.CanarySent("w");
  EXPECT_TRUE(standings.CanaryEnded("w", Internal("twice as slow"), 0));
  EXPECT_THAT(standings.LineOf("w").why, HasSubstr("twice as slow"));
  EXPECT_FALSE(standings.WantsCanary("w", 99));
  EXPECT_TRUE(standings.WantsCanary("w", 100));
  standings.CanarySent("w");
  EXPECT_FALSE(standings.CanaryEnded("w", Internal("twice as slow"), 100)) << "no news";
  EXPECT_FALSE(standings.WantsCanary("w", 299)) << "the wait doubles";
  standings.CanarySent("w");
  (void)standings.CanaryEnded("w", Status(), 300);
  EXPECT_TRUE(standings.MayWork("w"));
  EXPECT_EQ(standings.LineOf("w").why, "");
}

TEST(StandingsTest, FailuresInARowIsolateAndResultsInBetweenDoNot) {
  Standings standings = Ready();
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(standings.Failed("w", "no memory", 0));
    EXPECT_FALSE(standings.Failed("w", "no memory", 0));
    standings.Delivered("w");
  }
  EXPECT_FALSE(standings.Failed("w", "no memory", 0));
  EXPECT_FALSE(standings.Failed("w", "no memory", 0));
  EXPECT_TRUE(standings.Failed("w", "no memory", 0));
  EXPECT_FALSE(standings.MayWork("w"));
  EXPECT_THAT(standings.LineOf("w").why, HasSubstr("no memory"));
}

TEST(StandingsTest, FalseResultsIsolateEvenWithGoodOnesInBetween) {
  Standings standings = Ready();
  EXPECT_FALSE(standings.ToldFalsely("w", "negative", 0));
  for (int i = 0; i < 100; ++i) standings.Delivered("w");
  EXPECT_TRUE(standings.ToldFalsely("w", "negative", 0));
  EXPECT_FALSE(standings.MayWork("w"));
}

TEST(StandingsTest, WhatAHandDidOnlyAHandUndoes) {
  Standings standings = Ready();
  standings.Quarantine("w", "fan broken", 0);
  EXPECT_FALSE(standings.WantsCanary("w", 1'000'000));
  standings.Forget("w");
  EXPECT_EQ(standings.LineOf("w").state, State::kQuarantined);
  standings.Release("w");
  EXPECT_TRUE(standings.WantsCanary("w", 0)) << "released, and tested";
  standings.Drain("w", "moves");
  EXPECT_TRUE(standings.Draining("w"));
  EXPECT_FALSE(standings.WantsCanary("w", 0));
  standings.Met("w", "2", 0);
  EXPECT_FALSE(standings.Draining("w")) << "it has left and is back";
}

TEST(StandingsTest, WhatAHandDidIsRestored) {
  Standings before = Ready();
  before.Quarantine("w", "fan broken", 0);
  before.Met("v", "1", 0);
  before.Drain("v", "moves");
  EXPECT_EQ(before.HoldOf("nobody").quarantine, "");
  Standings after{StandingTerms{.canaries = true}};
  for (const char* name : {"v", "w"}) after.Restore(name, before.HoldOf(name));
  EXPECT_EQ(after.Held(), std::vector<std::string>{"w"});
  after.Met("w", "2", 0);
  EXPECT_FALSE(after.MayWork("w"));
  EXPECT_FALSE(after.WantsCanary("w", 1'000'000));
  EXPECT_EQ(after.LineOf("w").why, "fan broken");
  after.Met("v", "1", 0);
  EXPECT_TRUE(after.Draining("v")) << "the same start of the worker";
  EXPECT_EQ(after.LineOf("v").why, "moves");
  after.Met("v", "2", 0);
  EXPECT_FALSE(after.Draining("v")) << "it has left and is back";
  EXPECT_TRUE(after.WantsCanary("v", 0));
  after.Release("w");
  EXPECT_EQ(after.HoldOf("w").quarantine, "");
}

TEST(StandingsTest, WhatIsSaidOfAForgottenWorkerDoesNotBringItBack) {
  Standings standings = Ready();
  standings.Forget("w");
  EXPECT_FALSE(standings.ToldFalsely("w", "late", 10));
  EXPECT_FALSE(standings.Failed("w", "late", 10));
  EXPECT_FALSE(standings.CanaryEnded("w", Internal("late"), 10));
  standings.Delivered("w");
  standings.CanarySent("w");
  standings.CanaryLost("w");
  EXPECT_EQ(standings.size(), 0);
  EXPECT_FALSE(standings.MayWork("w"));
}

TEST(StandingsTest, WhoIsKeptFromWorkIsToldApart) {
  Standings standings = Ready();
  EXPECT_FALSE(standings.IsKept("w"));
  EXPECT_FALSE(standings.IsKept("nobody"));
  standings.Drain("w", "moves");
  EXPECT_TRUE(standings.IsKept("w"));
  standings.Release("w");
  EXPECT_FALSE(standings.IsKept("w"));
  standings.Quarantine("w", "smells", 10);
  EXPECT_TRUE(standings.IsKept("w"));
}

TEST(StandingsTest, WithoutCanariesEverybodyIsReady) {
  Standings standings{StandingTerms{}};
  standings.Met("w", "1", 0);
  EXPECT_TRUE(standings.MayWork("w"));
  EXPECT_FALSE(standings.WantsCanary("w", 1'000'000));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(standings.Failed("w", "x", 0));
}

}  // namespace
}  // namespace mlc::server
