// What trials cost on workers with one device and with several, and that users with equal shares
// have equal device time whichever kind of worker serves them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/scheduler/leases.h"

namespace mlc::server {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

const Digest kAda{8, 1};
const Digest kBob{8, 2};
const Digest kEve{8, 3};

Digest Uid(uint64_t n) { return Digest{9, n}; }

Leases::Contact From(int devices, int want, std::vector<Digest> holding = {}) {
  Leases::Contact contact;
  contact.worker = "w";
  contact.incarnation = "1";
  contact.offer = {"gpu", {}, 0, devices};
  contact.holding = std::move(holding);
  contact.want = want;
  return contact;
}

std::vector<double> Paid(const Leases::Orders& orders) {
  std::vector<double> seconds;
  for (const LeasePayment& one : orders.paid) seconds.push_back(one.device_s);
  return seconds;
}

class LeasesDevicesTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    for (uint64_t n = 0; n < 100; ++n) leases_.Add(Uid(n), kAda, {"gpu", {}, 0});
  }
  static auto Is(double seconds) { return DoubleNear(seconds, 1e-9); }

  const int devices_ = GetParam();
  Leases leases_{{}};
};

TEST_P(LeasesDevicesTest, AFullWorkerCostsTheTimeOfAllItsDevices) {
  (void)leases_.Synchronize(From(devices_, 16), 1000);
  EXPECT_EQ(leases_.Receive(Uid(0)), Leases::Receipt::kFirst);
  EXPECT_THAT(Paid(leases_.Synchronize(From(devices_, 0, {Uid(1)}), 4000)),
              ElementsAre(Is(3.0 * devices_)));
}

TEST_P(LeasesDevicesTest, ALonelyTrialCostsTheTimeOfOneDevice) {
  (void)leases_.Synchronize(From(devices_, 1), 1000);
  EXPECT_EQ(leases_.Receive(Uid(0)), Leases::Receipt::kFirst);
  EXPECT_THAT(Paid(leases_.Synchronize(From(devices_, 0), 4000)), ElementsAre(Is(3)));
}

TEST_P(LeasesDevicesTest, ResultsShareWhatHasPassedAndIdleTimeIsFree) {
  (void)leases_.Synchronize(From(devices_, 0), 1000);
  (void)leases_.Synchronize(From(devices_, 8), 61'000);
  for (uint64_t n = 0; n < 8; ++n) EXPECT_EQ(leases_.Receive(Uid(n)), Leases::Receipt::kFirst);
  const std::vector<double> paid = Paid(leases_.Synchronize(From(devices_, 0), 65'000));
  EXPECT_THAT(paid, ::testing::SizeIs(8));
  EXPECT_THAT(paid, ::testing::Each(Is(0.5 * devices_)));
}

TEST_P(LeasesDevicesTest, WhatTheWorkerTellsCountsAsFarAsItCanBe) {
  (void)leases_.Synchronize(From(devices_, 16), 1000);
  (void)leases_.Receive(Uid(0), 0.25);
  (void)leases_.Receive(Uid(1), 0.0);
  (void)leases_.Receive(Uid(2), 1e300);
  EXPECT_THAT(Paid(leases_.Synchronize(From(devices_, 0, {Uid(3)}), 4000)),
              ElementsAre(Is(0.25), Is(0), Is(3.0 * devices_)));
}

TEST_P(LeasesDevicesTest, ALostWorkersTimeIsNobodysWhenItIsBack) {
  (void)leases_.Synchronize(From(devices_, 16), 1000);
  (void)leases_.Expire(1'000'000);
  const auto grants = leases_.Synchronize(From(devices_, 1), 1'000'000).grants;
  ASSERT_EQ(grants.size(), 1u);
  (void)leases_.Receive(grants[0].uid);
  EXPECT_THAT(Paid(leases_.Synchronize(From(devices_, 0), 1'002'000)), ElementsAre(Is(2)));
}

INSTANTIATE_TEST_SUITE_P(Devices, LeasesDevicesTest, ::testing::Values(1, 2, 8));

// Workers that keep a trial beyond those on their devices, and take them in order.
class Fleet {
 public:
  explicit Fleet(bool tells) : tells_(tells) {
    for (const auto& [job_id, user] :
         std::map<Digest, std::string>{{kAda, "ada"}, {kBob, "bob"}, {kEve, "eve"}}) {
      leases_.shares().Set(job_id, {user, 0});
    }
  }
  void AddWorker(const std::string& name, int devices, const std::string& kernel) {
    workers_.push_back({name, {"gpu", {"any", kernel}, 0, devices}, {}, {}});
  }
  // The user's trials need the kernel and keep a device so long.
  void AddUser(const Digest& job_id, const std::string& kernel, int64_t trial_ms) {
    kinds_[job_id] = {kernel, trial_ms, 0, 0};
  }
  // Milliseconds of devices that each user had.
  std::map<Digest, double> Run(int64_t until_ms) {
    for (now_ms_ = 0; now_ms_ < until_ms; now_ms_ += kStepMs) {
      Propose();
      for (Worker& worker : workers_) Step(worker);
    }
    std::map<Digest, double> had;
    for (const auto& [job_id, kind] : kinds_) had[job_id] = static_cast<double>(kind.had_ms);
    return had;
  }

 private:
  static constexpr int64_t kStepMs = 25;
  static constexpr int kWaiting = 20;  // of each user
  struct Kind {
    std::string kernel;
    int64_t trial_ms = 0;
    int64_t had_ms = 0;
    int waiting = 0;
  };
  struct Running {
    Digest uid;
    int64_t end_ms = 0;
  };
  struct Worker {
    std::string name;
    Offer offer;
    std::deque<Digest> waiting;
    std::vector<Running> running;
  };

  void Propose() {
    for (auto& [job_id, kind] : kinds_) {
      for (; kind.waiting < kWaiting; ++kind.waiting) {
        leases_.Add(Uid(issued_), job_id, {"gpu", kind.kernel, 0});
        job_id_of_[Uid(issued_++)] = job_id;
      }
    }
  }
  void Step(Worker& worker) {
    std::erase_if(worker.running, [&](const Running& one) {
      if (one.end_ms > now_ms_) return false;
      Kind& kind = kinds_[job_id_of_[one.uid]];
      kind.had_ms += kind.trial_ms;
      std::optional<double> reported;
      if (tells_) reported = static_cast<double>(kind.trial_ms) / 1e3;
      EXPECT_EQ(leases_.Receive(one.uid, reported), Leases::Receipt::kFirst);
      leases_.Finish(one.uid);
      return true;
    });
    Leases::Contact contact;
    contact.worker = worker.name;
    contact.incarnation = "1";
    contact.offer = worker.offer;
    for (const Running& one : worker.running) contact.holding.push_back(one.uid);
    contact.holding.insert(contact.holding.end(), worker.waiting.begin(), worker.waiting.end());
    contact.want = worker.offer.devices + 1 - static_cast<int>(contact.holding.size());
    for (const auto& grant : leases_.Synchronize(contact, now_ms_).grants) {
      worker.waiting.push_back(grant.uid);
      --kinds_[job_id_of_[grant.uid]].waiting;
    }
    while (!worker.waiting.empty() &&
           static_cast<int>(worker.running.size()) < worker.offer.devices) {
      const Digest uid = worker.waiting.front();
      worker.waiting.pop_front();
      worker.running.push_back({uid, now_ms_ + kinds_[job_id_of_[uid]].trial_ms});
    }
  }

  const bool tells_;
  Leases leases_{{}};
  std::vector<Worker> workers_;
  std::map<Digest, Kind> kinds_;
  std::map<Digest, Digest> job_id_of_;
  uint64_t issued_ = 0;
  int64_t now_ms_ = 0;
};

// Ada's trials go to a worker with four devices, bob's to four workers with one, eve's to any of
// them: each has a third.
TEST(LeasesDevicesFleetTest, SharesAreEqualOnOneWorkerWithFourDevicesAndOnFourWithOne) {
  for (const bool tells : {false, true}) {
    Fleet fleet(tells);
    fleet.AddWorker("four", 4, "wide");
    for (const char* name : {"one", "two", "three", "another"}) fleet.AddWorker(name, 1, "narrow");
    fleet.AddUser(kAda, "wide", 200);
    fleet.AddUser(kBob, "narrow", 200);
    fleet.AddUser(kEve, "any", 200);
    std::map<Digest, double> had = fleet.Run(1'000'000);
    EXPECT_NEAR(had[kAda] / had[kBob], 1, 0.02) << tells;
    EXPECT_NEAR(had[kEve] / had[kBob], 1, 0.02) << tells;
  }
}

// Whose trial ends first would else pay for those that are under way on the other devices.
TEST(LeasesDevicesFleetTest, LongAndShortTrialsBesideEachOtherShareDevicesEqually) {
  for (const int devices : {1, 2, 8}) {
    Fleet fleet(/*tells=*/true);
    fleet.AddWorker("w", devices, "any");
    fleet.AddUser(kAda, "any", 2000);
    fleet.AddUser(kBob, "any", 100);
    std::map<Digest, double> had = fleet.Run(1'000'000);
    EXPECT_NEAR(had[kAda] / had[kBob], 1, 0.05) << devices;
  }
}

}  // namespace
}  // namespace mlc::server
