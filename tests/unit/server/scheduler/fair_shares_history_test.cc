// Fair shares over long random histories: the bounds that any two users and any two of one user's
// jobs keep, whatever comes and goes and however long trials take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "server/scheduler/fair_shares.h"

namespace mlc::server {
namespace {

Digest JobId(uint64_t n) { return Digest{7, n}; }

// Random histories against the specification: what waits is what Order gives; the first of it is
// never a lower priority of its user; and over any stretch in which two users wait without a break,
// they differ by no more than one lease each, over weight. Jobs of one priority likewise.
class Specification {
 public:
  explicit Specification(uint64_t seed) : rng_(seed) {
    for (uint64_t n = 0; n < kJobs; ++n) {
      shares_.Set(JobId(n), {UserOf(n), priority_[n] = static_cast<int>(rng_.Below(3))});
    }
    for (int user = 0; user < kUsers; ++user) {
      weight_[user] = 1 + static_cast<double>(rng_.Below(4));
      shares_.SetWeight(UserOf(static_cast<uint64_t>(user)), weight_[user]);
    }
  }

  void Event() {
    if (rng_.Below(4) == 0) {
      const uint64_t n = rng_.Below(kJobs);
      const bool waits = waiting_.contains(n);
      shares_.SetWaiting("cpu", JobId(n), !waits);
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
    shares_.Charge("cpu", JobId(n));
    for (auto& [users, counts] : stretches_) Count(users, counts, n);
    for (auto& [jobs, counts] : turns_) Turn(jobs, counts, n);
  }

 private:
  static constexpr uint64_t kJobs = 9;
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
    for (uint64_t other = 0; other < kJobs; ++other) {
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
  static void Turn(const Pair& jobs, Counts& counts, uint64_t n) {
    if (n == jobs.first) ++counts.first;
    if (n == jobs.second) ++counts.second;
    ASSERT_LE(std::abs(counts.first - counts.second), 2);
  }

  Rng rng_;
  FairShares shares_;
  int priority_[kJobs];
  double weight_[kUsers];
  std::set<uint64_t> waiting_;
  std::map<Pair, Counts> stretches_;
  std::map<Pair, Counts> turns_;
};

TEST(FairSharesHistoryTest, RandomHistoriesKeepTheBound) {
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

  // `seconds(job_id)` is what the next trial of the job takes.
  Account(std::vector<double> weights, std::function<double(size_t)> seconds)
      : weights_(std::move(weights)), had_(weights_.size()), seconds_(std::move(seconds)) {
    for (size_t user = 0; user < weights_.size(); ++user) {
      shares_.SetWeight(std::to_string(user), weights_[user]);
      shares_.Set(JobId(user), {std::to_string(user), 0});
      shares_.SetWaiting("cpu", JobId(user), true);
    }
  }

  // One worker ends its trial if all are busy, and takes another.
  void Turn() {
    if (running_.size() == kWorkers) End();
    const size_t user = shares_.Order("cpu").at(0).low;
    const double charged = shares_.Charge("cpu", JobId(user));
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
    shares_.Settle("cpu", JobId(done.user), done.charged, now_ - done.begin);
    had_[done.user] += (now_ - done.begin - done.charged) / weights_[done.user];
  }

  std::vector<double> weights_;
  std::vector<double> had_;
  std::function<double(size_t)> seconds_;
  FairShares shares_;
  std::priority_queue<Running> running_;
  double now_ = 0;
};

TEST(FairSharesHistoryTest, TheTimeOfWorkersIsSharedNotTheTrials) {
  Account account({1, 1, 2}, [](size_t user) { return user == 0 ? 10.0 : 0.5; });
  for (int turn = 0; turn < 20'000; ++turn) account.Turn();
  EXPECT_GT(account.had(0), 1000);
  EXPECT_NEAR(account.had(1) / account.had(0), 1, 0.05);
  EXPECT_NEAR(account.had(2) / account.had(0), 2, 0.1);
}

// A user gets a trial while it has had least, so it is ahead by that trial at most, and by what the
// trials under way turn out to take longer; all trials of a turn may do so at once.
TEST(FairSharesHistoryTest, TrialsOfAnyLengthKeepTheBound) {
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

}  // namespace
}  // namespace mlc::server
