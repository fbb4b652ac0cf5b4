#include "server/security/grants.h"

#include <gtest/gtest.h>

namespace mlc::server {
namespace {

TEST(GrantsTest, OnlyWhoWasGivenATrialFinishesIt) {
  Grants grants;
  EXPECT_TRUE(grants.MayFinish("t", "a")) << "given before a restart, maybe";
  grants.Give("t", "a");
  EXPECT_TRUE(grants.MayFinish("t", "a"));
  EXPECT_FALSE(grants.MayFinish("t", "b"));
  grants.Give("t", "b");
  EXPECT_TRUE(grants.MayFinish("t", "a")) << "late, and maybe first all the same";
  EXPECT_TRUE(grants.MayFinish("t", "b"));
}

TEST(GrantsTest, ForgetsTheOldest) {
  Grants grants(2);
  for (const char* uid : {"1", "2", "3"}) grants.Give(uid, "a");
  EXPECT_TRUE(grants.MayFinish("1", "b"));
  EXPECT_FALSE(grants.MayFinish("2", "b"));
  EXPECT_FALSE(grants.MayFinish("3", "b"));
}

TEST(GrantsTest, ForgetsEveryWorkerOfATrial) {
  Grants grants(1);
  grants.Give("1", "a");
  grants.Give("1", "b");
  grants.Give("2", "a");
  grants.Give("1", "c");
  EXPECT_FALSE(grants.MayFinish("1", "b")) << "given anew, to another one";
  EXPECT_TRUE(grants.MayFinish("1", "c"));
}

}  // namespace
}  // namespace mlc::server
