#include "server/security/grants.h"

#include <gtest/gtest.h>

namespace mlc::server {
namespace {

TEST(GrantsTest, OnlyWhoWasGivenATrialFinishesIt) {
  Grants grants;
  EXPECT_TRUE(grants.MayFinish("t", "a")) << "given before a restart, maybe";
  grants.Record("t", "a");
  EXPECT_TRUE(grants.MayFinish("t", "a"));
  EXPECT_FALSE(grants.MayFinish("t", "b"));
  grants.Record("t", "b");
  EXPECT_TRUE(grants.MayFinish("t", "a")) << "late, and maybe first all the same";
  EXPECT_TRUE(grants.MayFinish("t", "b"));
}

TEST(GrantsTest, ForgetsTheOldest) {
  Grants grants(2);
  for (const char* uid : {"1", "2", "3"}) grants.Record(uid, "a");
  EXPECT_TRUE(grants.MayFinish("1", "b"));
  EXPECT_FALSE(grants.MayFinish("2", "b"));
  EXPECT_FALSE(grants.MayFinish("3", "b"));
}

TEST(GrantsTest, ForgetsEveryWorkerOfATrial) {
  Grants grants(1);
  grants.Record("1", "a");
  grants.Record("1", "b");
  grants.Record("2", "a");
  grants.Record("1", "c");
  EXPECT_FALSE(grants.MayFinish("1", "b")) << "given anew, to another one";
  EXPECT_TRUE(grants.MayFinish("1", "c"));
}

TEST(GrantsTest, KnowsOnlyTheWorkersOfTheTrialsThatItRemembers) {
  Grants grants(10);
  for (int n = 0; n < 10'000; ++n) {
    grants.Record(std::to_string(n), "pod-" + std::to_string(n));
    if (n % 3 == 0) grants.Record(std::to_string(n), "again-" + std::to_string(n));
    ASSERT_LE(grants.workers(), 20u);
  }
  EXPECT_TRUE(grants.MayFinish("9999", "pod-9999"));
  EXPECT_TRUE(grants.MayFinish("9999", "again-9999"));
  EXPECT_FALSE(grants.MayFinish("9998", "pod-9999"));
}

}  // namespace
}  // namespace mlc::server
