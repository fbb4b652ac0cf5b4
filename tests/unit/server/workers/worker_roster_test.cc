#include "server/workers/worker_roster.h"

#include <gmock/gmock.h>

#include <set>

namespace mlc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kAwayMs = 100;

RosterTerms Terms() {
  RosterTerms terms;
  terms.max_live = 5;
  terms.max_of_owner = 3;
  terms.max_silent = 4;
  terms.max_silent_excluded = 2;
  terms.forget_ms = 1'000;
  terms.forget_excluded_ms = 10'000;
  return terms;
}

class WorkerRosterTest : public ::testing::Test {
 protected:
  Status Call(const std::string& worker, int64_t now_ms, const std::string& owner = "lab") {
    return roster_.RecordContact(worker, owner, now_ms);
  }
  std::vector<std::string> Forget(int64_t now_ms) {
    return roster_.Forget([this](const std::string& worker) { return kept_.contains(worker); },
                          now_ms);
  }

  WorkerRoster roster_{Terms(), kAwayMs};
  std::set<std::string> kept_;
};

TEST_F(WorkerRosterTest, ASilentWorkerIsForgottenAfterAWhile) {
  ASSERT_TRUE(Call("a", 0).ok());
  EXPECT_THAT(Forget(100), IsEmpty());
  EXPECT_EQ(roster_.live(), 1);
  EXPECT_THAT(Forget(101), IsEmpty());
  EXPECT_EQ(roster_.live(), 0);
  EXPECT_THAT(Forget(999), IsEmpty());
  EXPECT_THAT(Forget(1000), ElementsAre("a"));
  EXPECT_EQ(roster_.size(), 0);
}

TEST_F(WorkerRosterTest, OneThatCallsAgainStays) {
  for (int64_t now = 0; now < 5'000; now += 50) {
    ASSERT_TRUE(Call("a", now).ok());
    EXPECT_THAT(Forget(now), IsEmpty());
  }
  EXPECT_EQ(roster_.live(), 1);
  EXPECT_THAT(Forget(5'500), IsEmpty());
  EXPECT_TRUE(Call("a", 5'500).ok()) << "back after a silence";
  EXPECT_EQ(roster_.live(), 1);
  EXPECT_EQ(roster_.size(), 1);
}

TEST_F(WorkerRosterTest, AnOwnerAndTheServerHaveOnlySoManyInContact) {
  for (const char* worker : {"a", "b", "c"}) ASSERT_TRUE(Call(worker, 0).ok());
  const Status fourth = Call("d", 1);
  EXPECT_EQ(fourth.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(fourth.message(), HasSubstr("worker d exceeds a limit: 3 workers of lab"));
  EXPECT_THAT(fourth.message(), HasSubstr("--max-workers-each"));
  EXPECT_TRUE(Call("a", 1).ok()) << "those that are there go on";
  ASSERT_TRUE(Call("x", 1, "home").ok());
  ASSERT_TRUE(Call("y", 1, "home").ok());
  EXPECT_THAT(Call("z", 1, "home").message(), HasSubstr("5 are in contact"));
  EXPECT_EQ(roster_.size(), 5) << "who was refused left nothing behind";
  EXPECT_THAT(Forget(101), IsEmpty());
  EXPECT_TRUE(Call("d", 101).ok()) << "b and c have fallen silent";
}

TEST_F(WorkerRosterTest, AMillionNamesThatComeAndGoLeaveAFew) {
  for (int64_t n = 0; n < 1'000'000; ++n) {
    // Refusals do not matter here: whoever does not get in is not remembered.
    (void)Call("pod-" + std::to_string(n), n, "owner-" + std::to_string(n % 7));
    if (n % 20 == 0) (void)Forget(n);
    ASSERT_LE(roster_.size(), Terms().max_live + Terms().max_silent + Terms().max_silent_excluded);
  }
}

TEST_F(WorkerRosterTest, WhoIsKeptFromWorkIsRememberedLongerAndNotCrowdedOut) {
  kept_ = {"bad"};
  ASSERT_TRUE(Call("bad", 0).ok());
  int64_t now = 0;
  for (int n = 0; n < 40; ++n) {
    now += 101;
    EXPECT_TRUE(Call("pod-" + std::to_string(n), now).ok());
    EXPECT_THAT(Forget(now), ::testing::Not(::testing::Contains("bad")));
  }
  EXPECT_THAT(Forget(9'999), ::testing::Not(::testing::Contains("bad")));
  EXPECT_THAT(Forget(10'000), ::testing::Contains("bad"));
}

TEST_F(WorkerRosterTest, OfTooManyThatAreKeptThoseSilentLongestGo) {
  kept_ = {"p", "q", "r"};
  ASSERT_TRUE(Call("q", 0).ok());
  ASSERT_TRUE(Call("p", 1).ok());
  ASSERT_TRUE(Call("r", 2).ok());
  EXPECT_THAT(Forget(500), ElementsAre("q"));
}

}  // namespace
}  // namespace mlc::server
