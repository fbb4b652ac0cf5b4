// A million random events: calls of workers in order, late, twice and lost, restarts, broken
// connections, silence, results from whomever. A naive model says what must follow, and what users
// pay for it. Where the state machine may choose, the model checks that the choice is allowed and
// leaves nothing that could have been granted.
#include "tests/unit/server/scheduler/leases_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/rng.h"
#include "server/scheduler/leases.h"

namespace mlc::server {
namespace {

using At = LeasesModel::At;

// One worker as it is out there, with a network that holds messages back and repeats them.
struct Outside {
  int incarnation = 1;
  uint64_t sequence = 0;
  std::set<Digest> holding;
  std::optional<Leases::Contact> delayed;
};

class Scene {
 public:
  explicit Scene(uint64_t seed) : rng_(seed), leases_(kTerms), model_(kTerms) {}

  void Event() {
    now_ += static_cast<int64_t>(rng_.Below(12));
    const std::string name = "w" + std::to_string(rng_.Below(5));
    Outside& worker = outside_[name];
    switch (rng_.Below(16)) {
      case 0:
      case 1:
      case 2:
        Issue();
        break;
      case 3:
        if (rng_.Below(6) == 0) {
          ++worker.incarnation;
          worker.sequence = 0;
          worker.holding.clear();
        }
        break;
      case 4:
        leases_.Disconnected(name, Incarnation(worker), now_);
        if (model_.workers[name].alive && model_.workers[name].incarnation == Incarnation(worker)) {
          int64_t& deadline = model_.workers[name].deadline;
          deadline = std::min(deadline, now_ + kTerms.disconnect_ms);
        }
        break;
      case 5:
        Expire();
        break;
      case 6:
      case 7:
      case 8:
        Answer(worker);
        break;
      case 9:
        if (rng_.Below(40) == 0) Drop();
        break;
      case 10:
        if (worker.delayed) Deliver(name, worker, *worker.delayed);  // late, or once more
        break;
      default:
        Call(name, worker);
    }
    Check();
  }

  const Leases::Counts& counts() const { return leases_.counts(); }
  double paid_s() const { return paid_s_; }

 private:
  static constexpr LeaseTerms kTerms{
      .lease_ms = 200, .disconnect_ms = 60, .max_attempts = 4, .max_losses = 2};

  static std::string Incarnation(const Outside& worker) {
    return "b" + std::to_string(worker.incarnation);
  }
  Needs SomeNeeds() {
    const uint64_t kind = rng_.Below(3);
    return {kind == 2 ? "gpu" : "cpu", kind == 1 ? "f/2" : "f/1",
            static_cast<int64_t>(rng_.Below(3))};
  }
  // The first three workers can all; the others are of another build, small, or of GPUs.
  Offer OfferOf(const std::string& name) const {
    if (name == "w3") return {"cpu", {"f/1"}, 1, 1};
    if (name == "w4") return {"gpu", {}, 0, 8};
    return {"cpu", {}, 0, name == "w2" ? 2 : 1};
  }

  void Issue() {
    if (counts().queued > 30) return;
    Leases::Ask ask;
    // Now and then one that is here already.
    ask.uid = Digest{1, rng_.Below(20) == 0 ? rng_.Below(issued_ + 1) : issued_++};
    ask.job_id = Digest{2, rng_.Below(3)};
    ask.needs = SomeNeeds();
    const uint64_t kind = rng_.Below(12);
    if (kind == 0) ask.only = "w" + std::to_string(rng_.Below(5));
    if (kind == 1) {
      ask.avoid = "w" + std::to_string(rng_.Below(5));
      ask.avoid_until_ms = now_ + static_cast<int64_t>(rng_.Below(400));
    }
    ASSERT_EQ(leases_.Add(ask), model_.Add(ask));
  }

  void Call(const std::string& name, Outside& worker) {
    Leases::Contact contact;
    contact.worker = name;
    contact.incarnation = Incarnation(worker);
    contact.sequence = ++worker.sequence;
    contact.offer = OfferOf(name);
    contact.holding.assign(worker.holding.begin(), worker.holding.end());
    contact.want = static_cast<int>(rng_.Below(4));
    contact.trusted = rng_.Below(10) != 0;
    contact.draining = rng_.Below(30) == 0;
    contact.quarantined = !contact.trusted && rng_.Below(2) == 0;
    if (rng_.Below(8) == 0) {
      worker.delayed = contact;  // it arrives when it arrives
    } else {
      if (rng_.Below(8) == 0) worker.delayed = contact;  // and once more
      Deliver(name, worker, contact);
    }
  }

  void Deliver(const std::string& name, Outside& worker, const Leases::Contact contact) {
    std::set<Digest> cancelled;
    const bool fresh = model_.Contact(contact, now_, cancelled);
    const Leases::Orders orders = leases_.Synchronize(contact, now_);
    ASSERT_EQ(orders.stale, !fresh);
    CheckPayments(orders);
    ASSERT_EQ(std::set<Digest>(orders.cancelled.begin(), orders.cancelled.end()), cancelled);
    for (const Leases::Grant& grant : orders.grants) {
      LeasesModel::Trial& trial = model_.trials.at(grant.uid);
      ASSERT_TRUE(model_.MayHave(trial, name, contact.trusted, now_)) << "granted what it may not";
      ASSERT_EQ(grant.attempt, trial.attempts + 1);
      model_.Hold(trial, name);
      trial.charged |= trial.ask.only.empty();
    }
    if (fresh) model_.Answered(name);
    ASSERT_LE(static_cast<int>(orders.grants.size()), contact.want);
    // Told so, a process of which an older one seems to be the newer takes another name.
    if (orders.stale && contact.incarnation == Incarnation(worker) &&
        contact.sequence == worker.sequence) {
      ++worker.incarnation;
      worker.sequence = 0;
    }
    if (fresh && static_cast<int>(orders.grants.size()) < contact.want) {
      for (const auto& [uid, trial] : model_.trials) {
        ASSERT_FALSE(model_.MayHave(trial, name, contact.trusted, now_)) << "kept back a trial";
      }
    }
    // A reply to an old process is lost, as is one now and then.
    if (contact.incarnation != Incarnation(worker) || rng_.Below(10) == 0) return;
    for (const Digest& uid : orders.cancelled) worker.holding.erase(uid);
    for (const Leases::Grant& grant : orders.grants) worker.holding.insert(grant.uid);
  }

  void CheckPayments(const Leases::Orders& orders) {
    ASSERT_EQ(orders.paid.size(), model_.paid.size());
    for (size_t i = 0; i < orders.paid.size(); ++i) {
      ASSERT_EQ(orders.paid[i].job_id, model_.paid[i].job_id);
      ASSERT_NEAR(orders.paid[i].device_s, model_.paid[i].device_s, 1e-9);
      paid_s_ += orders.paid[i].device_s;
    }
  }

  // What a worker says that a trial cost: nothing, little, or more than can be.
  std::optional<double> SomeCost() {
    const uint64_t kind = rng_.Below(4);
    if (kind < 2) return std::nullopt;
    return kind == 2 ? 1e9 : static_cast<double>(rng_.Below(50)) / 1000;
  }

  // A result of something the worker holds, or of anything at all.
  void Answer(Outside& worker) {
    Digest uid{1, rng_.Below(issued_ + 1)};
    if (!worker.holding.empty() && rng_.Below(8) != 0) {
      auto held = worker.holding.begin();
      std::advance(held, rng_.Below(worker.holding.size()));
      uid = *held;
    }
    worker.holding.erase(uid);
    const auto found = model_.trials.find(uid);
    const bool known = found != model_.trials.end() && LeasesModel::Live(found->second);
    const std::optional<double> cost = SomeCost();
    const Leases::Receipt receipt = leases_.Receive(uid, cost);
    if (!known) {
      ASSERT_EQ(receipt, Leases::Receipt::kUnknown);
      return;
    }
    ASSERT_EQ(receipt, found->second.at == At::kReceived ? Leases::Receipt::kBeingCommitted
                                                         : Leases::Receipt::kFirst);
    if (receipt != Leases::Receipt::kFirst) return Settle(uid);
    model_.Receive(found->second, cost);
    if (rng_.Below(4) != 0) Settle(uid);
  }

  // What the server did with a result: kept it, failed to keep it, could not use it.
  void Settle(const Digest& uid) {
    LeasesModel::Trial& trial = model_.trials.at(uid);
    const uint64_t how = rng_.Below(10);
    if (how == 0) {
      leases_.Undo(uid);
      if (!trial.ask.only.empty() && !model_.workers[trial.ask.only].alive) {
        // Queued for a worker that has gone meanwhile: gone with it.
        trial.at = At::kDropped;
        model_.ended.insert(uid);
      } else {
        trial.at = At::kQueued;
      }
    } else if (how == 1) {
      model_.Fail(uid, trial);
      model_.ended.erase(uid);
      ASSERT_EQ(leases_.Retry(uid), trial.at == At::kQueued);
    } else if (how == 2) {
      leases_.Quarantine(uid);
      trial.at = At::kQuarantined;
    } else {
      leases_.Finish(uid);
      trial.at = At::kDone;
    }
  }

  void Expire() {
    model_.Expire(now_);
    std::set<Digest> ended;
    for (const Leases::Ended& end : leases_.Expire(now_)) {
      ASSERT_FALSE(end.why.empty());
      ended.insert(end.uid);
    }
    ASSERT_EQ(ended, model_.ended);
    model_.ended.clear();
    model_.Sweep();
  }

  void Drop() {
    const Digest job_id{2, rng_.Below(3)};
    const bool all = rng_.Below(2) == 0;
    for (const Digest& uid : all ? leases_.DropAll(job_id) : leases_.DropQueued(job_id)) {
      LeasesModel::Trial& trial = model_.trials.at(uid);
      ASSERT_EQ(trial.ask.job_id, job_id);
      ASSERT_TRUE(trial.at == At::kQueued || (all && trial.at == At::kLeased));
      trial.at = At::kDropped;
    }
    for (const auto& [uid, trial] : model_.trials) {
      if (trial.ask.job_id != job_id || !trial.ask.only.empty()) continue;
      ASSERT_NE(trial.at, At::kQueued);
      ASSERT_TRUE(!all || trial.at != At::kLeased);
    }
  }

  void Check() {
    const Leases::Counts& counts = leases_.counts();
    ASSERT_EQ(counts.queued + counts.leased + counts.received + counts.done + counts.quarantined +
                  counts.dropped,
              counts.issued);
    if (rng_.Below(16) != 0) return;
    for (uint64_t n = 0; n < 3; ++n) {
      const Digest job_id{2, n};
      ASSERT_EQ(leases_.Unserved(job_id).has_value(), model_.Stuck(job_id));
      const Leases::Load load = leases_.queues().LoadOf(job_id);
      ASSERT_EQ(load.queued, model_.LoadOf(job_id).queued);
      ASSERT_EQ(load.leased, model_.LoadOf(job_id).leased);
    }
    ASSERT_EQ(counts.queued, model_.Count(At::kQueued));
    ASSERT_EQ(counts.leased, model_.Count(At::kLeased));
    ASSERT_EQ(counts.received, model_.Count(At::kReceived));
    ASSERT_EQ(counts.done, model_.Count(At::kDone));
    ASSERT_EQ(counts.quarantined, model_.Count(At::kQuarantined));
    ASSERT_EQ(counts.dropped, model_.Count(At::kDropped));
  }

  Rng rng_;
  Leases leases_;
  LeasesModel model_;
  std::map<std::string, Outside> outside_;
  uint64_t issued_ = 0;
  int64_t now_ = 0;
  double paid_s_ = 0;
};

TEST(LeasesModelTest, AMillionEventsGoAsTheSimpleModelSays) {
  Leases::Counts sum;
  double paid_s = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Scene run(seed);
    for (int event = 0; event < 20'000; ++event) {
      run.Event();
      ASSERT_FALSE(HasFatalFailure()) << "seed " << seed << " event " << event;
    }
    sum.done += run.counts().done;
    sum.quarantined += run.counts().quarantined;
    sum.lost += run.counts().lost;
    sum.dropped += run.counts().dropped;
    paid_s += run.paid_s();
  }
  // The events reach every corner.
  EXPECT_GT(sum.done, 50'000);
  EXPECT_GT(sum.quarantined, 1'000);
  EXPECT_GT(sum.lost, 5'000);
  EXPECT_GT(sum.dropped, 1'000);
  EXPECT_GT(paid_s, 1'000);
}

}  // namespace
}  // namespace mlc::server
