#include "server/scheduler/fair_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

namespace mlc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Digest Study(uint64_t n) { return Digest{7, n}; }

// The next study's turn, taken.
Digest Next(FairShares& shares, const std::string& target_class = "cpu") {
  const Digest study = shares.Order(target_class).at(0);
  shares.Charge(target_class, study);
  return study;
}

TEST(FairSharesTest, UsersShareEquallyHoweverManyJobsTheyHave) {
  FairShares shares;
  for (uint64_t n = 0; n < 10; ++n) {
    shares.Set(Study(n), {"ada", 0});
    shares.SetWaiting("cpu", Study(n), true);
  }
  shares.Set(Study(100), {"bob", 0});
  shares.SetWaiting("cpu", Study(100), true);
  int bobs = 0;
  for (int turn = 0; turn < 100; ++turn) bobs += Next(shares) == Study(100) ? 1 : 0;
  EXPECT_EQ(bobs, 50);
}

TEST(FairSharesTest, WeightsSetTheProportion) {
  FairShares shares;
  shares.SetWeight("ada", 3);
  shares.Set(Study(1), {"ada", 0});
  shares.Set(Study(2), {"bob", 0});
  for (uint64_t n : {1, 2}) shares.SetWaiting("cpu", Study(n), true);
  int adas = 0;
  for (int turn = 0; turn < 400; ++turn) adas += Next(shares) == Study(1) ? 1 : 0;
  EXPECT_EQ(adas, 300);
}

TEST(FairSharesTest, APriorityOrdersOnesOwnJobsAndTakesNothingFromOthers) {
  FairShares shares;
  shares.Set(Study(1), {"ada", -5});
  shares.Set(Study(2), {"ada", 100});
  shares.Set(Study(3), {"bob", 0});
  for (uint64_t n : {1, 2, 3}) shares.SetWaiting("cpu", Study(n), true);
  std::map<Digest, int> turns;
  for (int turn = 0; turn < 20; ++turn) ++turns[Next(shares)];
  EXPECT_EQ(turns[Study(2)], 10);
  EXPECT_EQ(turns[Study(3)], 10);
  shares.SetWaiting("cpu", Study(2), false);
  EXPECT_EQ(turns[Study(1)], 0);
  for (int turn = 0; turn < 20; ++turn) ++turns[Next(shares)];
  EXPECT_EQ(turns[Study(1)], 10) << "the lower one takes its place";
  shares.Set(Study(1), {"ada", 7});
  shares.SetWaiting("cpu", Study(2), true);
  shares.Set(Study(2), {"ada", 1});
  for (int turn = 0; turn < 20; ++turn) ++turns[Next(shares)];
  EXPECT_EQ(turns[Study(1)], 20) << "a priority may change while the job waits";
}

TEST(FairSharesTest, WhoWasAwayHasSavedNothingUpAndOwesNothing) {
  FairShares shares;
  shares.Set(Study(1), {"ada", 0});
  shares.Set(Study(2), {"bob", 0});
  shares.SetWaiting("cpu", Study(1), true);
  for (int turn = 0; turn < 1000; ++turn) Next(shares);
  shares.SetWaiting("cpu", Study(2), true);
  int bobs = 0;
  for (int turn = 0; turn < 100; ++turn) bobs += Next(shares) == Study(2) ? 1 : 0;
  EXPECT_NEAR(bobs, 50, 1);
}

TEST(FairSharesTest, AUserWhoSubmitsJobAfterJobStaysOneUser) {
  FairShares shares;
  shares.Set(Study(1000), {"bob", 0});
  shares.SetWaiting("cpu", Study(1000), true);
  int bobs = 0;
  for (uint64_t n = 0; n < 100; ++n) {
    shares.Set(Study(n), {"ada", 0});
    shares.SetWaiting("cpu", Study(n), true);
    for (int turn = 0; turn < 4; ++turn) bobs += Next(shares) == Study(1000) ? 1 : 0;
    shares.SetWaiting("cpu", Study(n), false);
    shares.Remove(Study(n));
  }
  EXPECT_NEAR(bobs, 200, 2);
}

TEST(FairSharesTest, ClassesOfTargetsAreSharedApart) {
  FairShares shares;
  shares.Set(Study(1), {"ada", 0});
  shares.Set(Study(2), {"bob", 0});
  shares.SetWaiting("cpu", Study(1), true);
  for (int turn = 0; turn < 50; ++turn) Next(shares, "cpu");
  for (uint64_t n : {1, 2}) shares.SetWaiting("gpu", Study(n), true);
  int adas = 0;
  for (int turn = 0; turn < 10; ++turn) adas += Next(shares, "gpu") == Study(1) ? 1 : 0;
  EXPECT_EQ(adas, 5);
  EXPECT_THAT(shares.Order("tpu"), IsEmpty());
}

TEST(FairSharesTest, AStudyOfNobodyIsAUserOfItsOwn) {
  FairShares shares;
  for (uint64_t n : {1, 2}) shares.SetWaiting("cpu", Study(n), true);
  EXPECT_EQ(Next(shares), Study(1));
  EXPECT_EQ(Next(shares), Study(2));
  EXPECT_THAT(shares.Order("cpu"), ElementsAre(Study(1), Study(2)));
}

TEST(FairSharesTest, ANewJobIsTakenForTheUsualOne) {
  FairShares shares;
  shares.Set(Study(1), {"ada", 0});
  shares.SetWaiting("cpu", Study(1), true);
  for (int turn = 0; turn < 100; ++turn) {
    shares.Settle("cpu", Study(1), shares.Charge("cpu", Study(1)), 2);
  }
  shares.Set(Study(2), {"bob", 0});
  shares.SetWaiting("cpu", Study(2), true);
  EXPECT_NEAR(shares.Charge("cpu", Study(2)), 2, 1e-9);
  shares.Settle("cpu", Study(2), 2, 6);
  EXPECT_NEAR(shares.Charge("cpu", Study(2)), 6, 1e-9) << "then for what its own took";
  EXPECT_NEAR(shares.Charge("cpu", Study(1)), 2, 1e-9);
  EXPECT_LT(shares.Charge("gpu", Study(1)), 0.001) << "another class is another matter";
  shares.SetWaiting("cpu", Study(2), false);
  shares.Remove(Study(2));
  shares.Settle("cpu", Study(2), 6, 6);  // nobody's any more
  shares.Settle("tpu", Study(2), 6, 6);
  EXPECT_NEAR(shares.Charge("cpu", Study(1)), 2, 1e-9);
}

// Users and classes of targets come for one job and never again.
TEST(FairSharesTest, WhatItKnowsDoesNotGrowWithJobsUsersAndClassesThatWere) {
  FairShares shares;
  int64_t early = 0;
  for (uint64_t n = 0; n < 20'000; ++n) {
    const std::string user = "user" + std::to_string(n);
    const std::string target_class = n % 2 == 0 ? "cpu" : "class" + std::to_string(n);
    shares.Set(Study(n), {user, 0});
    shares.SetWeight(user, 2);
    shares.SetWaiting(target_class, Study(n), true);
    const double charged = shares.Charge(target_class, Study(n));
    shares.SetWaiting(target_class, Study(n), false);
    shares.Settle(target_class, Study(n), charged, 5);
    shares.Remove(Study(n));
    if (n == 4'000) early = shares.size();
  }
  EXPECT_LE(shares.size(), early + 1'100);
  EXPECT_LE(shares.size(), 4'000);
}

}  // namespace
}  // namespace mlc::server
