// The planner against a random world: a batch system that answers late, stale or not at all, loses
// and requeues jobs, and refuses; workers that start slowly, die, fall silent and come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "base/rng.h"
#include "server/fleet/planner.h"

namespace mlc::server::fleet {
namespace {

constexpr const char* kClass = "target v1 cpu arch=x86_64";
constexpr int64_t kRequeueMs = 121'000;
constexpr int64_t kRememberMs = 600'000;

struct Job {
  PlacedWorker placed;
  bool process = false;  // a worker runs
  bool hung = false;     // it runs and is silent
  bool drains = false;
  int64_t run_at_ms = 0;
  int64_t call_at_ms = 0;
  int64_t called_ms = -1;
};

class World {
 public:
  World(uint64_t seed, PoolTerms terms)
      : rng_(seed), terms_(terms), planner_("lab", "inc", {std::move(terms)}) {}

  void Step(bool fault_free) {
    now_ms_ += 1'000;
    if (!fault_free) Trouble();
    Advance();
    history_.push_back(Listed());
    if (history_.size() > 8) history_.pop_front();
    std::optional<std::vector<PlacedWorker>> answer = history_.back();
    if (!fault_free && rng_.Below(10) == 0) answer.reset();
    if (!fault_free && rng_.Below(10) == 0) answer = history_.front();
    const bool answered = answer.has_value();
    for (const Action& action : planner_.Plan(DemandNow(), answer, now_ms_)) {
      Do(action, answered, !fault_free && rng_.Below(5) == 0);
    }
    Check();
  }

  void Want(int64_t trials) { trials_ = trials; }
  int64_t Working() const {
    return std::ranges::count_if(jobs_, [](const Job& job) { return Calls(job) && !job.drains; });
  }
  int64_t Jobs() const { return static_cast<int64_t>(jobs_.size()); }
  const PoolView& View() const { return planner_.View(terms_.name); }

 private:
  static bool Calls(const Job& job) { return job.process && !job.hung && job.called_ms >= 0; }

  void Trouble() {
    if (rng_.Below(20) == 0) trials_ = static_cast<int64_t>(rng_.Below(200));
    for (Job& job : jobs_) {
      if (rng_.Below(200) != 0) continue;
      switch (rng_.Below(4)) {
        case 0:  // its machine dies: requeued, and started again much later
          job.process = false;
          job.placed = {job.placed.name, terms_.name, PlacedState::kPending, true, ""};
          job.run_at_ms = now_ms_ + kRequeueMs;
          break;
        case 1:  // it dies and the batch system does not notice yet
          job.process = false;
          job.call_at_ms = now_ms_ + kRequeueMs;
          break;
        case 2:
          job.hung = !job.hung;
          break;
        default:
          job.placed.state = PlacedState::kEnding;
          job.process = false;
      }
    }
    std::erase_if(jobs_, [&](const Job& job) {
      return job.placed.state == PlacedState::kEnding && rng_.Below(5) == 0;
    });
  }

  void Advance() {
    for (Job& job : jobs_) {
      if (job.placed.state == PlacedState::kPending && now_ms_ >= job.run_at_ms) {
        job.placed.state = PlacedState::kRunning;
        job.process = true;
        job.hung = false;
        job.call_at_ms = now_ms_ + static_cast<int64_t>(rng_.Below(10'000));
      }
      if (job.process && !job.hung && now_ms_ >= job.call_at_ms) job.called_ms = now_ms_;
    }
    std::erase_if(jobs_, [&](const Job& job) { return job.drains && !job.hung; });
  }

  std::vector<PlacedWorker> Listed() const {
    std::vector<PlacedWorker> listed;
    for (const Job& job : jobs_) listed.push_back(job.placed);
    return listed;
  }

  Demand DemandNow() {
    Demand demand;
    demand.work = {{{.target_class = kClass}, trials_ > 0 ? 1 : 0, trials_, 0}};
    for (const Job& job : jobs_) {
      if (job.called_ms >= 0) calls_[job.placed.name] = job.called_ms;
    }
    // The server remembers those that are gone for a while.
    for (const auto& [name, called_ms] : calls_) {
      demand.workers.push_back({name, {.target_class = kClass}, 0, now_ms_ - called_ms, false});
    }
    std::erase_if(calls_, [&](const auto& call) { return now_ms_ - call.second > kRememberMs; });
    return demand;
  }

  void Do(const Action& action, bool answered, bool refused) {
    const auto job = std::ranges::find_if(
        jobs_, [&](const Job& entry) { return entry.placed.name == action.worker; });
    if (action.kind == Action::Kind::kStart) {
      EXPECT_TRUE(answered) << "a start without the provider's answer";
      EXPECT_TRUE(names_.insert(action.worker).second) << "a name used twice";
      if (refused) return planner_.StartFailed(action.worker, now_ms_);
      Job started;
      started.placed = {action.worker, terms_.name, PlacedState::kPending, false, ""};
      started.run_at_ms = now_ms_ + static_cast<int64_t>(rng_.Below(20'000));
      jobs_.push_back(started);
      return;
    }
    if (refused || job == jobs_.end()) return;
    if (action.kind == Action::Kind::kKill || !job->process) {
      jobs_.erase(job);
    } else {
      job->drains = true;
    }
  }

  void Check() const {
    EXPECT_LE(View().want, terms_.max);
    EXPECT_GE(View().want, terms_.min);
    EXPECT_LE(View().attached, View().counted);
    // Two for each wanted; and what a stale list had already forgotten when it was replaced.
    EXPECT_LE(Jobs(), 3 * terms_.max);
  }

  Rng rng_;
  PoolTerms terms_;
  Planner planner_;
  std::vector<Job> jobs_;
  std::deque<std::vector<PlacedWorker>> history_;
  std::set<std::string> names_;
  std::map<std::string, int64_t> calls_;
  int64_t trials_ = 0;
  int64_t now_ms_ = 1'000'000;
};

TEST(PlannerPropertyTest, InAnyWorldTheFleetStaysBoundedAndRecovers) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed * 7919);
    PoolTerms terms;
    terms.name = "cpu";
    terms.declared.classes = {"*"};
    terms.max = 1 + static_cast<int>(rng.Below(12));
    terms.min = static_cast<int>(rng.Below(static_cast<uint64_t>(terms.max) + 1));
    terms.trials_per_worker = 1 + static_cast<int>(rng.Below(20));
    terms.idle_ms = static_cast<int64_t>(rng.Below(100'000));
    terms.longest_backoff_ms = 60'000;
    World world(seed, terms);
    for (int i = 0; i < 2'000; ++i) world.Step(false);
    // The trouble is over: soon exactly those work that are needed, and nobody else is there.
    world.Want(3 * terms.trials_per_worker);
    for (int i = 0; i < 1'000; ++i) world.Step(true);
    const int64_t want = std::clamp(3, terms.min, terms.max);
    EXPECT_EQ(world.Working(), want);
    EXPECT_EQ(world.Jobs(), want);
    // And without work the least number.
    world.Want(0);
    for (int i = 0; i < 500; ++i) world.Step(true);
    EXPECT_EQ(world.Jobs(), terms.min);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace mlc::server::fleet
