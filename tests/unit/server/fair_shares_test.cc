#include "server/fair_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <queue>

#include "compiler/base/rng.h"
#include "server/leases.h"

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

// Random histories against the specification: what waits is what Order gives; the first of it is
// never a lower priority of its user; and over any stretch in which two users wait without a break,
// they differ by no more than one lease each, over weight. Jobs of one priority likewise.
class Specification {
 public:
  explicit Specification(uint64_t seed) : rng_(seed) {
    for (uint64_t n = 0; n < kStudies; ++n) {
      shares_.Set(Study(n), {UserOf(n), priority_[n] = static_cast<int>(rng_.Below(3))});
    }
    for (int user = 0; user < kUsers; ++user) {
      weight_[user] = 1 + static_cast<double>(rng_.Below(4));
      shares_.SetWeight(UserOf(static_cast<uint64_t>(user)), weight_[user]);
    }
  }

  void Event() {
    if (rng_.Below(4) == 0) {
      const uint64_t n = rng_.Below(kStudies);
      const bool waits = waiting_.contains(n);
      shares_.SetWaiting("cpu", Study(n), !waits);
      if (waits) {
        waiting_.erase(n);
      } else {
        waiting_.insert(n);
      }
      Begin(n, waits);
      return;
    }
    const std::vector<Digest> order = shares_.Order("cpu");
    ASSERT_EQ(order.size(), waiting_.size());
    if (order.empty()) return;
    const uint64_t n = order.front().low;
    ASSERT_TRUE(waiting_.contains(n));
    for (uint64_t other : waiting_) {
      ASSERT_TRUE(other % kUsers != n % kUsers || priority_[other] <= priority_[n]);
    }
    shares_.Charge("cpu", Study(n));
    for (auto& [users, counts] : stretches_) Count(users, counts, n);
    for (auto& [studies, counts] : turns_) Turn(studies, counts, n);
  }

 private:
  static constexpr uint64_t kStudies = 9;
  static constexpr int kUsers = 3;
  using Pair = std::pair<uint64_t, uint64_t>;
  using Counts = std::pair<double, double>;

  static std::string UserOf(uint64_t n) { return "user" + std::to_string(n % kUsers); }
  bool Waits(uint64_t user) const {
    for (uint64_t n : waiting_) {
      if (n % kUsers == user) return true;
    }
    return false;
  }
  // Stretches begin when the second of two begins to wait, and end when either stops.
  void Begin(uint64_t n, bool stopped) {
    const uint64_t user = n % kUsers;
    for (uint64_t other = 0; other < kUsers; ++other) {
      const Pair pair{std::min(user, other), std::max(user, other)};
      if (other == user) continue;
      if (!Waits(user)) stretches_.erase(pair);
      if (Waits(user) && Waits(other)) stretches_.try_emplace(pair);
    }
    for (uint64_t other = 0; other < kStudies; ++other) {
      if (other == n || other % kUsers != user || priority_[other] != priority_[n]) continue;
      const Pair pair{std::min(n, other), std::max(n, other)};
      if (stopped) turns_.erase(pair);
      if (!stopped && waiting_.contains(other)) turns_.try_emplace(pair);
    }
  }
  void Count(const Pair& users, Counts& counts, uint64_t n) {
    if (n % kUsers == users.first) counts.first += 1 / weight_[users.first];
    if (n % kUsers == users.second) counts.second += 1 / weight_[users.second];
    ASSERT_LE(std::abs(counts.first - counts.second),
              1 / weight_[users.first] + 1 / weight_[users.second] + 1e-9);
  }
  static void Turn(const Pair& studies, Counts& counts, uint64_t n) {
    if (n == studies.first) ++counts.first;
    if (n == studies.second) ++counts.second;
    ASSERT_LE(std::abs(counts.first - counts.second), 2);
  }

  Rng rng_;
  FairShares shares_;
  int priority_[kStudies];
  double weight_[kUsers];
  std::set<uint64_t> waiting_;
  std::map<Pair, Counts> stretches_;
  std::map<Pair, Counts> turns_;
};

TEST(FairSharesTest, RandomHistoriesKeepTheBound) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Specification history(seed);
    for (int event = 0; event < 4000; ++event) {
      history.Event();
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << "seed " << seed << " event " << event;
    }
  }
}

// Users that always wait, and trials of many lengths on several workers at once, against an account
// of what each user had. A trial under way counts in the account as it does for the shares.
class Account {
 public:
  static constexpr double kLongest = 10;
  static constexpr size_t kWorkers = 4;

  // `seconds(study)` is what the next trial of the study takes.
  Account(std::vector<double> weights, std::function<double(size_t)> seconds)
      : weights_(std::move(weights)), had_(weights_.size()), seconds_(std::move(seconds)) {
    for (size_t user = 0; user < weights_.size(); ++user) {
      shares_.SetWeight(std::to_string(user), weights_[user]);
      shares_.Set(Study(user), {std::to_string(user), 0});
      shares_.SetWaiting("cpu", Study(user), true);
    }
  }

  // One worker ends its trial if all are busy, and takes another.
  void Turn() {
    if (running_.size() == kWorkers) End();
    const size_t user = shares_.Order("cpu").at(0).low;
    const double charged = shares_.Charge("cpu", Study(user));
    had_[user] += charged / weights_[user];
    running_.push({-(now_ + seconds_(user)), user, charged, now_});
  }
  // Of what users had over their weights.
  double Spread() const {
    const auto [least, most] = std::minmax_element(had_.begin(), had_.end());
    return *most - *least;
  }
  double had(size_t user) const { return had_[user] * weights_[user]; }

 private:
  struct Running {
    double minus_end;
    size_t user;
    double charged;
    double begin;
    bool operator<(const Running& other) const { return minus_end < other.minus_end; }
  };
  void End() {
    const Running done = running_.top();
    running_.pop();
    now_ = -done.minus_end;
    shares_.Settle("cpu", Study(done.user), done.charged, now_ - done.begin);
    had_[done.user] += (now_ - done.begin - done.charged) / weights_[done.user];
  }

  std::vector<double> weights_;
  std::vector<double> had_;
  std::function<double(size_t)> seconds_;
  FairShares shares_;
  std::priority_queue<Running> running_;
  double now_ = 0;
};

TEST(FairSharesTest, TheTimeOfWorkersIsSharedNotTheTrials) {
  Account account({1, 1, 2}, [](size_t user) { return user == 0 ? 10.0 : 0.5; });
  for (int turn = 0; turn < 20'000; ++turn) account.Turn();
  EXPECT_GT(account.had(0), 1000);
  EXPECT_NEAR(account.had(1) / account.had(0), 1, 0.05);
  EXPECT_NEAR(account.had(2) / account.had(0), 2, 0.1);
}

// A user gets a trial while it has had least, so it is ahead by that trial at most, and by what the
// trials under way turn out to take longer; all trials of a turn may do so at once.
TEST(FairSharesTest, TrialsOfAnyLengthKeepTheBound) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Rng rng(seed);
    std::vector<double> weights;
    for (int user = 0; user < 4; ++user) weights.push_back(1 + static_cast<double>(rng.Below(4)));
    std::vector<double> longest;
    for (int user = 0; user < 4; ++user) {
      longest.push_back(Account::kLongest / static_cast<double>(1 + rng.Below(100)));
    }
    Account account(weights, [&](size_t user) {
      return longest[user] * (1 + static_cast<double>(rng.Below(1000))) / 1000;
    });
    const double bound = 2 * (Account::kWorkers + 1) * Account::kLongest;
    for (int turn = 0; turn < 20'000; ++turn) {
      account.Turn();
      ASSERT_LE(account.Spread(), bound) << "seed " << seed << " turn " << turn;
    }
  }
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

// Workers, jobs and time, simulated: each job keeps two batches of 16 under way, and proposes the
// next when the first is whole; a trial takes its worker 10 ms.
class Lab {
 public:
  explicit Lab(int workers) : idle_(workers) {}

  void Submit(const std::string& user, int priority, int64_t trials) {
    const Digest study = Study(jobs_.size());
    leases_.shares().Set(study, {user, priority});
    jobs_[study].left = trials;
    jobs_[study].trials = trials;
    Propose(study);
  }
  // The time at which each job ended.
  std::vector<int64_t> Run() {
    while (true) {
      Grant();
      if (running_.empty()) break;
      const auto [end, uid] = running_.top();
      running_.pop();
      now_ = -end;
      ++idle_;
      held_.erase(uid);
      Return(uid);
    }
    std::vector<int64_t> ends;
    for (const auto& [study, job] : jobs_) ends.push_back(job.end);
    return ends;
  }

 private:
  static constexpr int64_t kBatch = 16;
  static constexpr int64_t kTrialMs = 10;
  struct Job {
    int64_t trials = 0, left = 0, done = 0, end = 0;
    std::deque<int64_t> batches;  // trials missing of each
  };

  void Propose(const Digest& study) {
    Job& job = jobs_[study];
    while (job.batches.size() < 2 && job.left > 0) {
      const int64_t size = std::min(kBatch, job.left);
      for (int64_t n = 0; n < size; ++n) {
        const Digest uid{study.low + 1, static_cast<uint64_t>(--job.left)};
        ASSERT_TRUE(leases_.Add(uid, study, {"cpu", {}, 0}));
        study_of_[uid] = study;
      }
      job.batches.push_back(size);
    }
  }
  // Trials of a job come back in the order in which they were leased.
  void Return(const Digest& uid) {
    ASSERT_EQ(leases_.Receive(uid), Leases::Receipt::kFirst);
    leases_.Finish(uid);
    Job& job = jobs_[study_of_[uid]];
    if (--job.batches.front() == 0) job.batches.pop_front();
    if (++job.done == job.trials) job.end = now_;
    Propose(study_of_[uid]);
  }
  void Grant() {
    Leases::Contact contact;
    contact.worker = "w";
    contact.boot = "1";
    contact.offer.target_class = "cpu";
    contact.want = idle_;
    contact.holding.assign(held_.begin(), held_.end());
    for (const Leases::Grant& grant : leases_.Synchronize(contact, now_).grants) {
      running_.push({-(now_ + kTrialMs), grant.uid});
      held_.insert(grant.uid);
      --idle_;
    }
  }

  Leases leases_{LeaseTerms{.lease_ms = 1'000'000'000}};
  int idle_;
  int64_t now_ = 0;
  std::map<Digest, Job> jobs_;
  std::map<Digest, Digest> study_of_;
  std::set<Digest> held_;
  std::priority_queue<std::pair<int64_t, Digest>> running_;
};

TEST(FairSharesTest, ASmallJobTakesNoMoreThanTwiceItsTimeAloneBesideTenThousandTrials) {
  for (int workers : {1, 4, 16}) {
    Lab alone(workers);
    alone.Submit("bob", 0, 200);
    const int64_t time_alone = alone.Run().front();
    for (int jobs_of_ada : {1, 10}) {
      Lab shared(workers);
      for (int n = 0; n < jobs_of_ada; ++n) shared.Submit("ada", 50, 10'000 / jobs_of_ada);
      shared.Submit("bob", -50, 200);
      const std::vector<int64_t> ends = shared.Run();
      EXPECT_LE(ends.back(), 2 * time_alone + 40) << workers << " workers, " << jobs_of_ada;
    }
  }
}

TEST(FairSharesTest, AnUrgentJobOvertakesTheOthersOfItsOwner) {
  Lab alone(4);
  alone.Submit("ada", 0, 200);
  const int64_t time_alone = alone.Run().front();
  Lab lab(4);
  for (int n = 0; n < 5; ++n) lab.Submit("ada", 0, 2000);
  lab.Submit("ada", 10, 200);
  EXPECT_LE(lab.Run().back(), time_alone + 100);
}

}  // namespace
}  // namespace mlc::server
