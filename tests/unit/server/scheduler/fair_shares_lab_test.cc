// Fair shares through the leases: how long jobs of several users take beside each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/scheduler/leases.h"

namespace mlc::server {
namespace {

Digest JobId(uint64_t n) { return Digest{7, n}; }

// Workers, jobs and time, simulated: each job keeps two batches of 16 under way, and proposes the
// next when the first is whole; a trial takes its worker 10 ms.
class Lab {
 public:
  explicit Lab(int workers) : idle_(workers) {}

  void Submit(const std::string& user, int priority, int64_t trials) {
    const Digest job_id = JobId(jobs_.size());
    leases_.shares().Set(job_id, {user, priority});
    jobs_[job_id].left = trials;
    jobs_[job_id].trials = trials;
    Propose(job_id);
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
    for (const auto& [job_id, job] : jobs_) ends.push_back(job.end);
    return ends;
  }

 private:
  static constexpr int64_t kBatch = 16;
  static constexpr int64_t kTrialMs = 10;
  struct Job {
    int64_t trials = 0, left = 0, done = 0, end = 0;
    std::deque<int64_t> batches;  // trials missing of each
  };

  void Propose(const Digest& job_id) {
    Job& job = jobs_[job_id];
    while (job.batches.size() < 2 && job.left > 0) {
      const int64_t size = std::min(kBatch, job.left);
      for (int64_t n = 0; n < size; ++n) {
        const Digest uid{job_id.low + 1, static_cast<uint64_t>(--job.left)};
        ASSERT_TRUE(leases_.Add(uid, job_id, {"cpu", {}, 0}));
        job_id_of_[uid] = job_id;
      }
      job.batches.push_back(size);
    }
  }
  // Trials of a job come back in the order in which they were leased.
  void Return(const Digest& uid) {
    ASSERT_EQ(leases_.Receive(uid), Leases::Receipt::kFirst);
    leases_.Finish(uid);
    Job& job = jobs_[job_id_of_[uid]];
    if (--job.batches.front() == 0) job.batches.pop_front();
    if (++job.done == job.trials) job.end = now_;
    Propose(job_id_of_[uid]);
  }
  void Grant() {
    Leases::Contact contact;
    contact.worker = "w";
    contact.incarnation = "1";
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
  std::map<Digest, Digest> job_id_of_;
  std::set<Digest> held_;
  std::priority_queue<std::pair<int64_t, Digest>> running_;
};

TEST(FairSharesLabTest, ASmallJobTakesNoMoreThanTwiceItsTimeAloneBesideTenThousandTrials) {
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

TEST(FairSharesLabTest, AnUrgentJobOvertakesTheOthersOfItsOwner) {
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
