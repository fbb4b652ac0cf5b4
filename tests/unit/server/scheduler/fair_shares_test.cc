#include "server/scheduler/fair_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Digest JobId(uint64_t n) { return Digest{7, n}; }

// The next job's turn, taken.
Digest Next(FairShares& shares, const std::string& target_class = "cpu") {
  const Digest job_id = shares.Order(target_class).at(0);
  shares.Charge(target_class, job_id);
  return job_id;
}

TEST(FairSharesTest, UsersShareEquallyHoweverManyJobsTheyHave) {
  FairShares shares;
  for (uint64_t n = 0; n < 10; ++n) {
    shares.Set(JobId(n), {"ada", 0});
    shares.SetWaiting("cpu", JobId(n), true);
  }
  shares.Set(JobId(100), {"bob", 0});
  shares.SetWaiting("cpu", JobId(100), true);
  int bobs = 0;
  for (int turn = 0; turn < 100; ++turn) bobs += Next(shares) == JobId(100) ? 1 : 0;
  EXPECT_EQ(bobs, 50);
}

TEST(FairSharesTest, SharesTellWhatEachUserHasHadOfAClass) {
  FairShares shares;
  shares.SetWeight("ada", 2);
  shares.Set(JobId(1), {"ada", 0});
  shares.Set(JobId(2), {"bob", 0});
  shares.SetWaiting("cpu", JobId(1), true);
  shares.SetWaiting("cpu", JobId(2), true);
  shares.Settle("cpu", JobId(1), shares.Charge("cpu", JobId(1)), 6);
  const std::map<std::string, std::vector<FairShares::Share>> all = shares.SharesByClass();
  ASSERT_EQ(all.size(), 1U);
  const std::vector<FairShares::Share>& users = all.at("cpu");
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[0].user, "ada");
  EXPECT_EQ(users[0].weight, 2);
  EXPECT_EQ(users[0].had_s, 3) << "seconds over weight";
  EXPECT_EQ(users[0].waiting, 1);
  EXPECT_EQ(users[1].user, "bob");
  EXPECT_EQ(users[1].had_s, 0);
}

TEST(FairSharesTest, WeightsSetTheProportion) {
  FairShares shares;
  shares.SetWeight("ada", 3);
  shares.Set(JobId(1), {"ada", 0});
  shares.Set(JobId(2), {"bob", 0});
  for (uint64_t n : {1, 2}) shares.SetWaiting("cpu", JobId(n), true);
  int adas = 0;
  for (int turn = 0; turn < 400; ++turn) adas += Next(shares) == JobId(1) ? 1 : 0;
  EXPECT_EQ(adas, 300);
}

TEST(FairSharesTest, APriorityOrdersOnesOwnJobsAndTakesNothingFromOthers) {
  FairShares shares;
  shares.Set(JobId(1), {"ada", -5});
  shares.Set(JobId(2), {"ada", 100});
  shares.Set(JobId(3), {"bob", 0});
  for (uint64_t n : {1, 2, 3}) shares.SetWaiting("cpu", JobId(n), true);
  std::map<Digest, int> turns;
  for (int turn = 0; turn < 20; ++turn) ++turns[Next(shares)];
  EXPECT_EQ(turns[JobId(2)], 10);
  EXPECT_EQ(turns[JobId(3)], 10);
  shares.SetWaiting("cpu", JobId(2), false);
  EXPECT_EQ(turns[JobId(1)], 0);
  for (int turn = 0; turn < 20; ++turn) ++turns[Next(shares)];
  EXPECT_EQ(turns[JobId(1)], 10) << "the lower one takes its place";
  shares.Set(JobId(1), {"ada", 7});
  shares.SetWaiting("cpu", JobId(2), true);
  shares.Set(JobId(2), {"ada", 1});
  for (int turn = 0; turn < 20; ++turn) ++turns[Next(shares)];
  EXPECT_EQ(turns[JobId(1)], 20) << "a priority may change while the job waits";
}

TEST(FairSharesTest, WhoWasAwayHasSavedNothingUpAndOwesNothing) {
  FairShares shares;
  shares.Set(JobId(1), {"ada", 0});
  shares.Set(JobId(2), {"bob", 0});
  shares.SetWaiting("cpu", JobId(1), true);
  for (int turn = 0; turn < 1000; ++turn) Next(shares);
  shares.SetWaiting("cpu", JobId(2), true);
  int bobs = 0;
  for (int turn = 0; turn < 100; ++turn) bobs += Next(shares) == JobId(2) ? 1 : 0;
  EXPECT_NEAR(bobs, 50, 1);
}

TEST(FairSharesTest, AUserWhoSubmitsJobAfterJobStaysOneUser) {
  FairShares shares;
  shares.Set(JobId(1000), {"bob", 0});
  shares.SetWaiting("cpu", JobId(1000), true);
  int bobs = 0;
  for (uint64_t n = 0; n < 100; ++n) {
    shares.Set(JobId(n), {"ada", 0});
    shares.SetWaiting("cpu", JobId(n), true);
    for (int turn = 0; turn < 4; ++turn) bobs += Next(shares) == JobId(1000) ? 1 : 0;
    shares.SetWaiting("cpu", JobId(n), false);
    shares.Remove(JobId(n));
  }
  EXPECT_NEAR(bobs, 200, 2);
}

TEST(FairSharesTest, ClassesOfTargetsAreSharedApart) {
  FairShares shares;
  shares.Set(JobId(1), {"ada", 0});
  shares.Set(JobId(2), {"bob", 0});
  shares.SetWaiting("cpu", JobId(1), true);
  for (int turn = 0; turn < 50; ++turn) Next(shares, "cpu");
  for (uint64_t n : {1, 2}) shares.SetWaiting("gpu", JobId(n), true);
  int adas = 0;
  for (int turn = 0; turn < 10; ++turn) adas += Next(shares, "gpu") == JobId(1) ? 1 : 0;
  EXPECT_EQ(adas, 5);
  EXPECT_THAT(shares.Order("tpu"), IsEmpty());
}

TEST(FairSharesTest, AJobWithoutAUserIsAUserOfItsOwn) {
  FairShares shares;
  for (uint64_t n : {1, 2}) shares.SetWaiting("cpu", JobId(n), true);
  EXPECT_EQ(Next(shares), JobId(1));
  EXPECT_EQ(Next(shares), JobId(2));
  EXPECT_THAT(shares.Order("cpu"), ElementsAre(JobId(1), JobId(2)));
}

TEST(FairSharesTest, ANewJobIsTakenForTheUsualOne) {
  FairShares shares;
  shares.Set(JobId(1), {"ada", 0});
  shares.SetWaiting("cpu", JobId(1), true);
  for (int turn = 0; turn < 100; ++turn) {
    shares.Settle("cpu", JobId(1), shares.Charge("cpu", JobId(1)), 2);
  }
  shares.Set(JobId(2), {"bob", 0});
  shares.SetWaiting("cpu", JobId(2), true);
  EXPECT_NEAR(shares.Charge("cpu", JobId(2)), 2, 1e-9);
  shares.Settle("cpu", JobId(2), 2, 6);
  EXPECT_NEAR(shares.Charge("cpu", JobId(2)), 6, 1e-9) << "then for what its own took";
  EXPECT_NEAR(shares.Charge("cpu", JobId(1)), 2, 1e-9);
  EXPECT_LT(shares.Charge("gpu", JobId(1)), 0.001) << "another class is another matter";
  shares.SetWaiting("cpu", JobId(2), false);
  shares.Remove(JobId(2));
  shares.Settle("cpu", JobId(2), 6, 6);  // nobody's any more
  shares.Settle("tpu", JobId(2), 6, 6);
  EXPECT_NEAR(shares.Charge("cpu", JobId(1)), 2, 1e-9);
}

// Users and classes of targets come for one job and never again.
TEST(FairSharesTest, WhatItKnowsDoesNotGrowWithJobsUsersAndClassesThatWere) {
  FairShares shares;
  int64_t early = 0;
  for (uint64_t n = 0; n < 20'000; ++n) {
    const std::string user = "user" + std::to_string(n);
    const std::string target_class = n % 2 == 0 ? "cpu" : "class" + std::to_string(n);
    shares.Set(JobId(n), {user, 0});
    shares.SetWeight(user, 2);
    shares.SetWaiting(target_class, JobId(n), true);
    const double charged = shares.Charge(target_class, JobId(n));
    shares.SetWaiting(target_class, JobId(n), false);
    shares.Settle(target_class, JobId(n), charged, 5);
    shares.Remove(JobId(n));
    if (n == 4'000) early = shares.size();
  }
  EXPECT_LE(shares.size(), early + 1'100);
  EXPECT_LE(shares.size(), 4'000);
}

}  // namespace
}  // namespace mlc::server
