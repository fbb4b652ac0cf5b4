#include "server/leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/base/rng.h"

namespace mlc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Digest Uid(uint64_t n) { return Digest{0, n}; }
const Digest kStudy{1, 1};

Leases::Contact From(const std::string& worker, int want, std::vector<Digest> holding = {}) {
  return {worker, "boot", "cpu", std::move(holding), want};
}

std::vector<Digest> Uids(const Leases::Orders& orders) {
  std::vector<Digest> uids;
  for (const Leases::Grant& grant : orders.grants) uids.push_back(grant.uid);
  return uids;
}

TEST(LeasesTest, GrantsInOrderToTheRightClass) {
  Leases leases({});
  for (uint64_t n : {1, 2, 3}) EXPECT_TRUE(leases.Add(Uid(n), kStudy, "cpu"));
  EXPECT_FALSE(leases.Add(Uid(1), kStudy, "cpu"));
  Leases::Contact other = From("gpu0", 5);
  other.target_class = "gpu";
  EXPECT_THAT(Uids(leases.Synchronize(other, 0)), IsEmpty());
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 2), 0)), ElementsAre(Uid(1), Uid(2)));
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 2), 0)), ElementsAre(Uid(3)));
  EXPECT_EQ(leases.WorkersOf("cpu", 0), 2);
}

TEST(LeasesTest, StudiesTakeTurns) {
  Leases leases({});
  for (uint64_t n = 0; n < 10; ++n) leases.Add(Uid(n), kStudy, "cpu");
  leases.Add(Uid(100), Digest{2, 2}, "cpu");
  leases.Add(Uid(101), Digest{2, 2}, "cpu");
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 4), 0)),
              ElementsAre(Uid(0), Uid(100), Uid(1), Uid(101)));
}

TEST(LeasesTest, ASilentWorkerLosesItsLeases) {
  Leases leases({.lease_ms = 1000, .max_attempts = 2});
  leases.Add(Uid(1), kStudy, "cpu");
  leases.Synchronize(From("a", 1), 0);
  EXPECT_THAT(leases.Expire(1000), IsEmpty());
  EXPECT_EQ(leases.leased(), 1);
  EXPECT_THAT(leases.Expire(1001), IsEmpty());
  EXPECT_EQ(leases.queued(), 1);
  const Leases::Orders again = leases.Synchronize(From("b", 1), 1002);
  ASSERT_EQ(again.grants.size(), 1u);
  EXPECT_EQ(again.grants[0].attempt, 2);
  EXPECT_THAT(leases.Expire(5000), ElementsAre(Uid(1)));
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kUnknown);
}

TEST(LeasesTest, ContactRenews) {
  Leases leases({.lease_ms = 1000, .max_attempts = 3});
  leases.Add(Uid(1), kStudy, "cpu");
  leases.Synchronize(From("a", 1), 0);
  for (int64_t now = 900; now < 9000; now += 900) {
    leases.Synchronize(From("a", 0, {Uid(1)}), now);
    EXPECT_THAT(leases.Expire(now + 50), IsEmpty());
  }
  EXPECT_EQ(leases.leased(), 1);
}

TEST(LeasesTest, ARestartedWorkerGivesBackWhatItForgot) {
  Leases leases({});
  leases.Add(Uid(1), kStudy, "cpu");
  leases.Add(Uid(2), kStudy, "cpu");
  leases.Synchronize(From("a", 2), 0);
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 0, {Uid(2)}), 10)), IsEmpty());
  EXPECT_EQ(leases.queued(), 1);
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 5), 11)), ElementsAre(Uid(1)));
}

TEST(LeasesTest, ARestartedServerAdoptsWhatWorkersHold) {
  Leases leases({});
  leases.Add(Uid(1), kStudy, "cpu");
  const Leases::Orders orders = leases.Synchronize(From("a", 1, {Uid(1), Uid(9)}), 0);
  EXPECT_THAT(Uids(orders), IsEmpty());
  EXPECT_THAT(orders.cancelled, ElementsAre(Uid(9)));
  EXPECT_EQ(leases.leased(), 1);
}

TEST(LeasesTest, TheFirstResultWinsEvenLate) {
  Leases leases({.lease_ms = 1000, .max_attempts = 3});
  leases.Add(Uid(1), kStudy, "cpu");
  leases.Synchronize(From("a", 1), 0);
  leases.Expire(2000);
  leases.Synchronize(From("b", 1), 2000);
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kFirst);
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kBeingCommitted);
  leases.Finish(Uid(1));
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kUnknown);
  EXPECT_THAT(leases.Synchronize(From("b", 0, {Uid(1)}), 2001).cancelled, ElementsAre(Uid(1)));
}

TEST(LeasesTest, AFailedCommitCostsNoAttempt) {
  Leases leases({.lease_ms = 1000, .max_attempts = 1});
  leases.Add(Uid(1), kStudy, "cpu");
  leases.Synchronize(From("a", 1), 0);
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kFirst);
  leases.Undo(Uid(1));
  EXPECT_EQ(leases.queued(), 1);
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kFirst);
}

TEST(LeasesTest, RetriesEnd) {
  Leases leases({.lease_ms = 1000, .max_attempts = 2});
  leases.Add(Uid(1), kStudy, "cpu");
  for (bool more : {true, false}) {
    EXPECT_EQ(leases.Synchronize(From("a", 1), 0).grants.size(), 1u);
    EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kFirst);
    EXPECT_EQ(leases.Retry(Uid(1)), more);
  }
}

TEST(LeasesTest, DroppedStudiesLeaveNothing) {
  Leases leases({});
  for (uint64_t n = 0; n < 4; ++n) leases.Add(Uid(n), kStudy, "cpu");
  leases.Synchronize(From("a", 1), 0);
  EXPECT_EQ(leases.DropQueued(kStudy).size(), 3u);
  EXPECT_EQ(leases.leased(), 1);
  EXPECT_THAT(leases.DropAll(kStudy), ElementsAre(Uid(0)));
  EXPECT_EQ(leases.queued() + leases.leased() + leases.received(), 0);
}

// Random events against what must always hold: no trial is lost, none is finished twice, and a
// lease belongs to one worker.
TEST(LeasesTest, ARandomHistoryLosesNothing) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    Leases leases({.lease_ms = 100, .max_attempts = 1'000'000});
    std::map<std::string, std::set<Digest>> held;
    std::set<Digest> finished;
    uint64_t added = 0;
    int64_t now = 0;
    for (int event = 0; event < 20'000; ++event) {
      now += static_cast<int64_t>(rng.Below(10));
      const std::string worker = "w" + std::to_string(rng.Below(5));
      std::set<Digest>& mine = held[worker];
      switch (rng.Below(8)) {
        case 0:
          leases.Add(Uid(added++), Digest{0, rng.Below(3)}, "cpu");
          break;
        case 1:
          mine.clear();  // the worker restarts
          break;
        case 2:
          EXPECT_THAT(leases.Expire(now), IsEmpty());
          break;
        case 3:
        case 4: {
          if (mine.empty()) break;
          const Digest uid = *mine.begin();
          mine.erase(mine.begin());
          if (leases.Receive(uid) != Leases::Receipt::kFirst) break;
          if (rng.Below(4) == 0) {
            leases.Undo(uid);
            mine.insert(uid);
          } else if (rng.Below(4) == 0) {
            EXPECT_TRUE(leases.Retry(uid));
          } else {
            leases.Finish(uid);
            EXPECT_TRUE(finished.insert(uid).second) << "finished twice";
          }
          break;
        }
        default: {
          const Leases::Orders orders = leases.Synchronize(
              From(worker, static_cast<int>(rng.Below(4)), {mine.begin(), mine.end()}), now);
          for (const Digest& uid : orders.cancelled) mine.erase(uid);
          for (const Leases::Grant& grant : orders.grants) {
            EXPECT_FALSE(finished.contains(grant.uid));
            EXPECT_TRUE(mine.insert(grant.uid).second) << "granted what the worker holds";
          }
          if (rng.Below(10) == 0) {
            for (const Leases::Grant& grant : orders.grants) mine.erase(grant.uid);  // reply lost
          }
        }
      }
      ASSERT_EQ(leases.queued() + leases.leased() + leases.received() +
                    static_cast<int64_t>(finished.size()),
                static_cast<int64_t>(added));
    }
    EXPECT_GT(finished.size(), 100u);
  }
}

}  // namespace
}  // namespace mlc::server
