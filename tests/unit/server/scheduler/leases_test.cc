#include "server/scheduler/leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Digest Uid(uint64_t n) { return Digest{0, n}; }
const Digest kJobId{1, 1};

const Needs kCpu{"cpu", {}, 0};

Leases::Contact From(const std::string& worker, int want, std::vector<Digest> holding = {}) {
  Leases::Contact contact;
  contact.worker = worker;
  contact.incarnation = "incarnation";
  contact.offer.target_class = "cpu";
  contact.holding = std::move(holding);
  contact.want = want;
  return contact;
}

std::vector<Digest> Uids(const std::vector<Leases::Ended>& ended) {
  std::vector<Digest> uids;
  for (const Leases::Ended& end : ended) uids.push_back(end.uid);
  return uids;
}

std::vector<Digest> Uids(const Leases::Orders& orders) {
  std::vector<Digest> uids;
  for (const Leases::Grant& grant : orders.grants) uids.push_back(grant.uid);
  return uids;
}

TEST(LeasesTest, GrantsInOrderToTheRightClass) {
  Leases leases({});
  for (uint64_t n : {1, 2, 3}) EXPECT_TRUE(leases.Add(Uid(n), kJobId, kCpu));
  EXPECT_FALSE(leases.Add(Uid(1), kJobId, kCpu));
  Leases::Contact other = From("gpu0", 5);
  other.offer.target_class = "gpu";
  EXPECT_THAT(Uids(leases.Synchronize(other, 0)), IsEmpty());
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 2), 0)), ElementsAre(Uid(1), Uid(2)));
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 2), 0)), ElementsAre(Uid(3)));
  EXPECT_EQ(leases.workers().CountOf("cpu", 0), 2);
}

TEST(LeasesTest, ALostWorkerCanBeForgottenAndOneInContactCannot) {
  Leases leases({});
  leases.Add(Uid(1), kJobId, kCpu);
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 1), 0)), ElementsAre(Uid(1)));
  leases.Forget("a");
  leases.Forget("nobody");
  EXPECT_EQ(leases.workers().size(), 1) << "it holds a trial";
  (void)leases.Expire(30'001);
  leases.Forget("a");
  EXPECT_EQ(leases.workers().size(), 0);
  (void)leases.Expire(10'000'000);
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 1), 10'000'000)), ElementsAre(Uid(1)));
}

TEST(LeasesTest, TrialsThatBringTheirSourceAreFewInOneAnswer) {
  Leases leases({});
  Needs needs = kCpu;
  needs.kernel = "user_kernel/1";
  needs.reported_only = true;
  for (uint64_t n = 0; n < 40; ++n) leases.Add(Uid(n), kJobId, needs);
  Leases::Contact worker = From("a", 100);
  worker.offer.kernels = {"user_kernel/1"};
  size_t granted = 0;
  for (const size_t expected : {16, 16, 8, 0}) {
    const std::vector<Digest> uids = Uids(leases.Synchronize(worker, 0));
    EXPECT_EQ(uids.size(), expected);
    worker.holding.insert(worker.holding.end(), uids.begin(), uids.end());
    granted += uids.size();
  }
  EXPECT_EQ(granted, 40u);
}

TEST(LeasesTest, JobsTakeTurns) {
  Leases leases({});
  for (uint64_t n = 0; n < 10; ++n) leases.Add(Uid(n), kJobId, kCpu);
  leases.Add(Uid(100), Digest{2, 2}, kCpu);
  leases.Add(Uid(101), Digest{2, 2}, kCpu);
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 4), 0)),
              ElementsAre(Uid(0), Uid(100), Uid(1), Uid(101)));
}

TEST(LeasesTest, ASilentWorkerLosesItsLeases) {
  Leases leases({.lease_ms = 1000, .disconnect_ms = 100, .max_attempts = 2, .max_losses = 9});
  leases.Add(Uid(1), kJobId, kCpu);
  leases.Synchronize(From("a", 1), 0);
  EXPECT_THAT(leases.Expire(1000), IsEmpty());
  EXPECT_EQ(leases.counts().leased, 1);
  EXPECT_THAT(leases.Expire(1001), IsEmpty());
  EXPECT_EQ(leases.counts().queued, 1);
  const Leases::Orders again = leases.Synchronize(From("b", 1), 1002);
  ASSERT_EQ(again.grants.size(), 1u);
  EXPECT_EQ(again.grants[0].attempt, 2);
  EXPECT_THAT(Uids(leases.Expire(5000)), ElementsAre(Uid(1)));
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kUnknown);
}

TEST(LeasesTest, ContactRenews) {
  Leases leases({.lease_ms = 1000, .disconnect_ms = 100, .max_attempts = 3, .max_losses = 9});
  leases.Add(Uid(1), kJobId, kCpu);
  leases.Synchronize(From("a", 1), 0);
  for (int64_t now = 900; now < 9000; now += 900) {
    leases.Synchronize(From("a", 0, {Uid(1)}), now);
    EXPECT_THAT(leases.Expire(now + 50), IsEmpty());
  }
  EXPECT_EQ(leases.counts().leased, 1);
}

TEST(LeasesTest, ARestartedWorkerGivesBackWhatItForgot) {
  Leases leases({});
  leases.Add(Uid(1), kJobId, kCpu);
  leases.Add(Uid(2), kJobId, kCpu);
  leases.Synchronize(From("a", 2), 0);
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 0, {Uid(2)}), 10)), IsEmpty());
  EXPECT_EQ(leases.counts().queued, 1);
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 5), 11)), ElementsAre(Uid(1)));
}

TEST(LeasesTest, ARestartedServerAdoptsWhatWorkersHold) {
  Leases leases({});
  leases.Add(Uid(1), kJobId, kCpu);
  const Leases::Orders orders = leases.Synchronize(From("a", 1, {Uid(1), Uid(9)}), 0);
  EXPECT_THAT(Uids(orders), IsEmpty());
  EXPECT_THAT(orders.cancelled, ElementsAre(Uid(9)));
  EXPECT_EQ(leases.counts().leased, 1);
}

TEST(LeasesTest, TheFirstResultWinsEvenLate) {
  Leases leases({.lease_ms = 1000, .disconnect_ms = 100, .max_attempts = 3, .max_losses = 9});
  leases.Add(Uid(1), kJobId, kCpu);
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
  Leases leases({.lease_ms = 1000, .disconnect_ms = 100, .max_attempts = 1, .max_losses = 9});
  leases.Add(Uid(1), kJobId, kCpu);
  leases.Synchronize(From("a", 1), 0);
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kFirst);
  leases.Undo(Uid(1));
  EXPECT_EQ(leases.counts().queued, 1);
  EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kFirst);
}

TEST(LeasesTest, RetriesEnd) {
  Leases leases({.lease_ms = 1000, .disconnect_ms = 100, .max_attempts = 2, .max_losses = 9});
  leases.Add(Uid(1), kJobId, kCpu);
  for (bool more : {true, false}) {
    EXPECT_EQ(leases.Synchronize(From("a", 1), 0).grants.size(), 1u);
    EXPECT_EQ(leases.Receive(Uid(1)), Leases::Receipt::kFirst);
    EXPECT_EQ(leases.Retry(Uid(1)), more);
  }
}

TEST(LeasesTest, DroppedJobsLeaveNothing) {
  Leases leases({});
  for (uint64_t n = 0; n < 4; ++n) leases.Add(Uid(n), kJobId, kCpu);
  leases.Synchronize(From("a", 1), 0);
  EXPECT_EQ(leases.DropQueued(kJobId).size(), 3u);
  EXPECT_EQ(leases.counts().leased, 1);
  EXPECT_THAT(leases.DropAll(kJobId), ElementsAre(Uid(0)));
  EXPECT_EQ(leases.counts().queued + leases.counts().leased + leases.counts().received, 0);
}

TEST(LeasesTest, TwoDifferentWorkersLostEndATrialAndSpareTheOthers) {
  Leases leases({.lease_ms = 1000, .disconnect_ms = 100, .max_attempts = 9, .max_losses = 2});
  for (uint64_t n : {1, 2, 3}) leases.Add(Uid(n), kJobId, kCpu);
  leases.Synchronize(From("a", 3), 0);
  EXPECT_THAT(leases.Expire(2000), IsEmpty());
  // One suspect at a time; what nobody died of comes along.
  leases.Add(Uid(4), kJobId, kCpu);
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 9), 2000)), ElementsAre(Uid(3), Uid(4)));
  EXPECT_THAT(Uids(leases.Expire(4000)), ElementsAre(Uid(3)));
  EXPECT_EQ(leases.counts().quarantined, 1);
  EXPECT_EQ(leases.counts().queued, 3);
}

TEST(LeasesTest, ASuspectGoesToAnotherWorkerIfThereIsOne) {
  Leases leases({.lease_ms = 1000});
  leases.Add(Uid(1), kJobId, kCpu);
  leases.Synchronize(From("a", 1), 0);
  leases.Expire(1500);
  leases.Synchronize(From("b", 0), 1500);
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 1), 1600)), IsEmpty());
  leases.Expire(3000);
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 1), 3000)), ElementsAre(Uid(1)))
      << "b has left, too";
}

TEST(LeasesTest, AWorkerThatComesBackWithItsTrialIsNoVictim) {
  Leases leases({.lease_ms = 1000, .disconnect_ms = 100, .max_attempts = 9, .max_losses = 2});
  leases.Add(Uid(1), kJobId, kCpu);
  leases.Synchronize(From("a", 1), 0);
  leases.Expire(1500);
  EXPECT_THAT(leases.Synchronize(From("a", 0, {Uid(1)}), 1500).cancelled, IsEmpty());
  leases.Synchronize(From("a", 0), 1600);
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 1), 1600)), ElementsAre(Uid(1)));
  EXPECT_THAT(leases.Expire(9000), IsEmpty()) << "b alone was lost with it";
}

TEST(LeasesTest, ABrokenConnectionShortensTheLeaseAndACallRestoresIt) {
  Leases leases({.lease_ms = 30'000, .disconnect_ms = 5000});
  leases.Add(Uid(1), kJobId, kCpu);
  leases.Synchronize(From("a", 1), 0);
  leases.Disconnected("a", "another incarnation", 10);
  leases.Expire(9000);
  EXPECT_EQ(leases.counts().leased, 1);
  leases.Disconnected("a", "incarnation", 10'000);
  leases.Synchronize(From("a", 0, {Uid(1)}), 12'000);
  leases.Expire(20'000);
  EXPECT_EQ(leases.counts().leased, 1) << "it was back in time";
  leases.Disconnected("a", "incarnation", 21'000);
  leases.Expire(26'001);
  EXPECT_EQ(leases.counts().queued, 1);
}

TEST(LeasesTest, OldCallsChangeNothing) {
  Leases leases({});
  for (uint64_t n : {1, 2}) leases.Add(Uid(n), kJobId, kCpu);
  Leases::Contact first = From("a", 1);
  first.sequence = 1;
  Leases::Contact second = From("a", 0, {Uid(1)});
  second.sequence = 2;
  EXPECT_THAT(Uids(leases.Synchronize(first, 0)), ElementsAre(Uid(1)));
  EXPECT_FALSE(leases.Synchronize(second, 1).stale);
  EXPECT_TRUE(leases.Synchronize(first, 2).stale);
  EXPECT_EQ(leases.counts().leased, 1);
  Leases::Contact restarted = From("a", 0);
  restarted.incarnation = "second incarnation";
  restarted.sequence = 1;
  EXPECT_FALSE(leases.Synchronize(restarted, 3).stale);
  second.sequence = 3;
  EXPECT_TRUE(leases.Synchronize(second, 4).stale) << "of the process that has ended";
}

TEST(LeasesTest, ALostReplyIsNobodysFault) {
  Leases leases({.lease_ms = 1000, .max_attempts = 1});
  leases.Add(Uid(1), kJobId, kCpu);
  for (int i = 0; i < 5; ++i) {
    const Leases::Orders orders = leases.Synchronize(From("a", 1), i);
    ASSERT_EQ(orders.grants.size(), 1u);
    EXPECT_EQ(orders.grants[0].attempt, 1);
  }
}

TEST(LeasesTest, TrialsGoToWorkersThatCanMakeThem) {
  Leases leases({});
  leases.Add(Uid(1), kJobId, {"cpu", "conv/2", 1 << 20});
  Leases::Contact old = From("old", 1);
  old.offer.kernels = {"conv/1"};
  Leases::Contact small = From("small", 1);
  small.offer.memory_bytes = 1 << 10;
  EXPECT_THAT(Uids(leases.Synchronize(old, 0)), IsEmpty());
  EXPECT_THAT(Uids(leases.Synchronize(small, 0)), IsEmpty());
  EXPECT_EQ(leases.workers().CountFor({"cpu", "conv/2", 1 << 20}), 0);
  small.offer.memory_bytes = 1 << 20;
  EXPECT_THAT(Uids(leases.Synchronize(small, 0)), ElementsAre(Uid(1)));
}

TEST(LeasesTest, UntrustedWorkersGetOnlyWhatIsForThem) {
  Leases leases({});
  leases.Add(Uid(1), kJobId, kCpu);
  EXPECT_FALSE(leases.Add({Uid(2), kJobId, kCpu, "a", {}, 0})) << "a is not here";
  Leases::Contact contact = From("a", 5);
  contact.trusted = false;
  EXPECT_THAT(Uids(leases.Synchronize(contact, 0)), IsEmpty());
  EXPECT_TRUE(leases.Add({Uid(2), kJobId, kCpu, "a", {}, 0}));
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 5), 0)), ElementsAre(Uid(1)));
  EXPECT_THAT(Uids(leases.Synchronize(contact, 0)), ElementsAre(Uid(2)));
  EXPECT_THAT(Uids(leases.Expire(1'000'000)), ElementsAre(Uid(2))) << "it goes with its worker";
}

TEST(LeasesTest, AQuarantinedWorkerKeepsNothingThatItHoldsWithoutALease) {
  Leases leases({});
  leases.Add(Uid(1), kJobId, kCpu);
  Leases::Contact contact = From("a", 0, {Uid(1), Uid(2)});
  contact.trusted = false;
  contact.quarantined = true;
  leases.Synchronize(From("a", 0), 0);
  ASSERT_TRUE(leases.Add({Uid(2), kJobId, kCpu, "a", {}, 0}));
  EXPECT_THAT(leases.Synchronize(contact, 0).cancelled, ElementsAre(Uid(1)))
      << "a canary is for it";
  EXPECT_THAT(Uids(leases.Synchronize(From("b", 5), 0)), ElementsAre(Uid(1)));
}

TEST(LeasesTest, AConfirmationWaitsForAnotherWorkerForAWhile) {
  Leases leases({});
  leases.Add({Uid(1), kJobId, kCpu, {}, "a", 500});
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 5), 499)), IsEmpty());
  EXPECT_THAT(Uids(leases.Synchronize(From("a", 5), 500)), ElementsAre(Uid(1)));
}

// Ada's trials take the worker nine times as long as bob's.
TEST(LeasesTest, TheTimeOfAWorkerIsSharedNotItsTrials) {
  Leases leases{LeaseTerms{}};
  const Digest ada{8, 1};
  const Digest bob{8, 2};
  leases.shares().Set(ada, {"ada", 0});
  leases.shares().Set(bob, {"bob", 0});
  std::map<Digest, Digest> job_id_of;
  for (uint64_t n = 0; n < 4000; ++n) {
    const Digest uid{9, n};
    job_id_of[uid] = n % 2 == 0 ? ada : bob;
    ASSERT_TRUE(leases.Add(uid, job_id_of[uid], {"cpu", {}, 0}));
  }
  std::map<Digest, int64_t> spent;
  Leases::Contact contact;
  contact.worker = "w";
  contact.incarnation = "1";
  contact.offer.target_class = "cpu";
  contact.want = 1;
  int64_t now = 1'000'000;
  for (int turn = 0; turn < 1000; ++turn) {
    const auto grants = leases.Synchronize(contact, now).grants;
    ASSERT_EQ(grants.size(), 1u);
    const Digest job_id = job_id_of[grants[0].uid];
    const int64_t took = job_id == ada ? 900 : 100;
    now += took;
    spent[job_id] += took;
    ASSERT_EQ(leases.Receive(grants[0].uid), Leases::Receipt::kFirst);
    leases.Finish(grants[0].uid);
  }
  EXPECT_NEAR(static_cast<double>(spent[ada]) / static_cast<double>(spent[bob]), 1, 0.05);
}

TEST(LeasesTest, SharesOfUsersAreKept) {
  Leases leases({});
  const Digest other{2, 2};
  leases.shares().Set(kJobId, {"ada", 0});
  leases.shares().Set(other, {"bob", 0});
  leases.shares().SetWeight("ada", 3);
  for (uint64_t n = 0; n < 100; ++n) {
    leases.Add(Uid(n), kJobId, kCpu);
    leases.Add(Uid(1000 + n), other, kCpu);
  }
  int of_ada = 0;
  for (const Digest& uid : Uids(leases.Synchronize(From("a", 80), 0))) {
    of_ada += uid < Uid(1000) ? 1 : 0;
  }
  EXPECT_NEAR(of_ada, 60, 1);
}

}  // namespace
}  // namespace mlc::server
