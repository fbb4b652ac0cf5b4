#include "server/jobs/job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "server/jobs/job_plan.h"
#include "server/jobs/job_request.h"
#include "tests/unit/server/tuner/fake_strategy.h"

namespace mlc::server {
namespace {

struct Rig {
  explicit Rig(int64_t trials, int64_t configs = 1000, int batch = 4, int in_flight = 2)
      : run(Plan(trials, batch, in_flight),
            std::make_unique<FakeStrategy>(Input(), configs, story)) {}
  static SearchInput Input() {
    SearchInput input;
    input.tasks.push_back({MakeWorkload(8), 1, {}});
    input.tasks.push_back({MakeWorkload(16), 2, {}});
    return input;
  }
  static JobRun::Plan Plan(int64_t trials, int batch, int in_flight = 2) {
    const SearchInput input = Input();
    return {Digest{5, 5}, {input.tasks[0].workload.digest(), input.tasks[1].workload.digest()},
            "cpu",        trials,
            batch,        /*first_batch=*/0,
            in_flight};
  }
  void Record(const Trial& trial) {
    EXPECT_TRUE(run.Record(trial.uid, FakeMeasurement(trial.proposal.config["x"]), false));
  }

  std::shared_ptr<std::string> story = std::make_shared<std::string>();
  JobRun run;
};

TEST(JobRunTest, KeepsAsManyBatchesInFlightAsPlanned) {
  Rig rig(16, 1000, 2, 4);
  std::vector<Trial> trials = rig.run.Advance();
  ASSERT_EQ(trials.size(), 8u);
  // All but the slowest trial come home: its batch is not learned, and nothing follows it.
  for (size_t i = 1; i < trials.size(); ++i) rig.Record(trials[i]);
  EXPECT_TRUE(rig.run.Advance().empty());
  rig.Record(trials[0]);
  EXPECT_EQ(rig.run.Advance().size(), 8u);
  EXPECT_EQ(rig.run.learned(), 8);
}

TEST(JobRunTest, BatchesGrowWithWhatIsKnown) {
  JobRun::Plan plan = Rig::Plan(200, 8);
  plan.first_batch = 2;
  const auto story = std::make_shared<std::string>();
  JobRun run(plan, std::make_unique<FakeStrategy>(Rig::Input(), 1000, story));
  size_t most = 0;
  for (std::vector<Trial> open = run.Advance(); !open.empty();) {
    most = std::max(most, open.size());
    for (const Trial& trial : open) {
      EXPECT_TRUE(run.Record(trial.uid, FakeMeasurement(trial.proposal.config["x"]), false));
    }
    open = run.Advance();
  }
  EXPECT_EQ(most, 16u);
  EXPECT_EQ(run.recorded(), 200);
  EXPECT_TRUE(run.Finished());
  EXPECT_TRUE(story->starts_with("propose 2\npropose 2\nlearn 0:ok 1:ok\npropose 2\n")) << *story;
  EXPECT_NE(story->find("propose 3\n"), std::string::npos);
  EXPECT_NE(story->find("propose 8\n"), std::string::npos);
}

// Of one task nothing is known at first; of many, each is tried once before.
TEST(JobPlanTest, SmallBatchesComeFirstWhereAGpuHasFewTasks) {
  const target::Target gpu = *target::Target::Parse(
      "target v1 cuda arch=sm_90a sms=132 block=232448 sm=233472 l2=62914560");
  JobOptions options;
  options.batch = 16;
  db::JobRow row;
  row.tasks.resize(1);
  const JobRun::Plan one = PlanOf(row, options, gpu);
  EXPECT_LT(one.first_batch, 8);
  EXPECT_EQ(one.batch, 16);
  row.tasks.resize(20);
  EXPECT_EQ(PlanOf(row, options, gpu).first_batch, 16);
  options.batch = 1;
  row.tasks.resize(1);
  EXPECT_EQ(PlanOf(row, options, gpu).first_batch, 1);
  EXPECT_EQ(PlanOf(row, options, target::DetectHost(1)).first_batch, 0);
}

TEST(JobRunTest, CountsWhatIsUnderWayOfEachTask) {
  Rig rig(8);
  const std::vector<Trial> trials = rig.run.Advance();
  std::vector<int> expected(2);
  for (const Trial& trial : trials) ++expected[static_cast<size_t>(trial.proposal.task)];
  EXPECT_EQ(rig.run.UnderWay(), expected);
  rig.Record(trials[2]);
  --expected[static_cast<size_t>(trials[2].proposal.task)];
  EXPECT_EQ(rig.run.UnderWay(), expected);
  for (const Trial& trial : trials) (void)rig.run.Record(trial.uid, FakeMeasurement(1), false);
  EXPECT_EQ(rig.run.UnderWay(), std::vector<int>(2));
}

TEST(JobRunTest, KeepsTwoBatchesInFlightAndLearnsInOrder) {
  Rig rig(12);
  std::vector<Trial> trials = rig.run.Advance();
  ASSERT_EQ(trials.size(), 8u);
  EXPECT_TRUE(rig.run.Advance().empty());
  // The second batch comes home first, backwards: nothing is learned before the first one.
  for (size_t i : {7, 6, 5, 4}) rig.Record(trials[i]);
  EXPECT_TRUE(rig.run.Advance().empty());
  EXPECT_EQ(rig.run.learned(), 0);
  for (size_t i : {2, 0, 1, 3}) rig.Record(trials[i]);
  trials = rig.run.Advance();
  EXPECT_EQ(trials.size(), 4u);
  for (const Trial& trial : trials) rig.Record(trial);
  EXPECT_TRUE(rig.run.Advance().empty());
  EXPECT_TRUE(rig.run.Finished());
  EXPECT_EQ(*rig.story,
            "propose 4\npropose 4\n"
            "learn 0:ok 1:ok 2:ok 3:run_error\npropose 4\n"
            "learn 4:ok 5:ok 6:ok 7:ok\nlearn 8:ok 9:ok 10:run_error 11:ok\n");
  EXPECT_EQ(rig.run.outcomes()[0], 10);
  EXPECT_EQ(rig.run.outcomes()[3], 2);
}

TEST(JobRunTest, AnyOrderOfResultsGivesTheSameStory) {
  std::string first;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Rig rig(40, /*configs=*/38);
    Rng rng(seed);
    std::vector<Trial> open = rig.run.Advance();
    while (!open.empty()) {
      std::swap(open[rng.Below(open.size())], open.back());
      rig.Record(open.back());
      open.pop_back();
      // Results may come one by one or many together, as from the log.
      if (rng.Below(1 + 2 * seed) == 0 || open.empty()) {
        const std::vector<Trial> more = rig.run.Advance();
        open.insert(open.end(), more.begin(), more.end());
      }
    }
    EXPECT_TRUE(rig.run.Finished());
    if (seed == 0) first = *rig.story;
    EXPECT_EQ(*rig.story, first);
  }
}

// Proposes two at a time, and nothing while more than that is not learned.
class HesitantStrategy : public FakeStrategy {
 public:
  using FakeStrategy::FakeStrategy;
  std::vector<Proposal> Propose(int) override {
    if (open_ >= 2) return FakeStrategy::Propose(0);
    open_ += 2;
    return FakeStrategy::Propose(2);
  }
  void Learn(std::span<const Observation> batch) override {
    open_ -= static_cast<int>(batch.size());
    FakeStrategy::Learn(batch);
  }

 private:
  int open_ = 0;
};

TEST(JobRunTest, LookingAtAJobOftenAsksItsSearchNothing) {
  std::string stories[2];
  for (int looks : {1, 5}) {
    auto story = std::make_shared<std::string>();
    JobRun run(Rig::Plan(6, 4), std::make_unique<HesitantStrategy>(Rig::Input(), 1000, story));
    std::vector<Trial> open = run.Advance();
    while (!open.empty()) {
      const Trial trial = open.back();
      open.pop_back();
      EXPECT_TRUE(run.Record(trial.uid, FakeMeasurement(trial.proposal.config["x"]), false));
      for (int i = 0; i < looks; ++i) {
        for (Trial& more : run.Advance()) open.push_back(std::move(more));
      }
    }
    EXPECT_TRUE(run.Finished());
    stories[looks / 5] = *story;
  }
  EXPECT_EQ(stories[0], stories[1]);
}

TEST(JobRunTest, TrialsThatNoWorkerCouldMakeAreReplaced) {
  Rig rig(8);
  int made = 0;
  int asked = 0;
  for (std::vector<Trial> trials = rig.run.Advance(); !trials.empty(); trials = rig.run.Advance()) {
    for (const Trial& trial : trials) {
      // Every third is lost, and a result has the outcome kInfra unless it says another.
      if (++asked % 3 == 0) {
        EXPECT_TRUE(rig.run.Record(trial.uid, Measurement(), false));
      } else {
        rig.Record(trial);
        ++made;
      }
    }
  }
  EXPECT_EQ(made, 8);
  EXPECT_EQ(rig.run.learned(), 8);
  EXPECT_EQ(rig.run.recorded(), 8);
  EXPECT_GT(rig.run.outcomes()[7], 0);
  EXPECT_TRUE(rig.run.Finished());
}

TEST(JobRunTest, AJobWhoseTrialsAreAllLostEnds) {
  Rig rig(8);
  int asked = 0;
  for (std::vector<Trial> trials = rig.run.Advance(); !trials.empty(); trials = rig.run.Advance()) {
    for (const Trial& trial : trials) {
      ++asked;
      EXPECT_TRUE(rig.run.Record(trial.uid, Measurement(), false));
    }
  }
  EXPECT_EQ(asked, 8);
  EXPECT_TRUE(rig.run.Finished());
}

TEST(JobRunTest, EndsWhenTheSearchHasNoMore) {
  Rig rig(100, /*configs=*/6);
  for (const Trial& trial : rig.run.Advance()) rig.Record(trial);
  EXPECT_TRUE(rig.run.Advance().empty());
  EXPECT_TRUE(rig.run.Finished());
  EXPECT_EQ(rig.run.learned(), 6);
}

TEST(JobRunTest, StopsAndDropsWhatIsNotRunning) {
  Rig rig(100);
  std::vector<Trial> trials = rig.run.Advance();
  rig.Record(trials[0]);
  rig.run.Stop();
  for (size_t i = 2; i < trials.size(); ++i) rig.run.Drop(trials[i].uid);
  EXPECT_TRUE(rig.run.Advance().empty());
  EXPECT_FALSE(rig.run.Finished());
  rig.Record(trials[1]);
  EXPECT_TRUE(rig.run.Advance().empty());
  EXPECT_TRUE(rig.run.Finished());
  EXPECT_EQ(rig.run.learned(), 2);
}

TEST(JobRunTest, TakesEachResultOnce) {
  Rig rig(4);
  const std::vector<Trial> trials = rig.run.Advance();
  rig.Record(trials[0]);
  EXPECT_FALSE(rig.run.Record(trials[0].uid, Measurement(), false));
  EXPECT_FALSE(rig.run.Record(Digest{9, 9}, Measurement(), false));
  EXPECT_EQ(rig.run.recorded(), 1);
}

// Numbers that no integer holds are an error, not a conversion that the language leaves undefined.
TEST(JobOptionsTest, NumbersAreWholeAndInRange) {
  for (const char* field : {"trials", "seed", "time_budget_ms", "batch", "models"}) {
    for (const char* number : {"2.2e+89", "1.5", "18446744073709551616", "true", "null"}) {
      const std::string text = std::string("{\"") + field + "\":" + number + "}";
      const Result<JobOptions> options = JobOptions::Parse(text);
      ASSERT_FALSE(options.ok()) << text;
      EXPECT_EQ(options.status(), DataLoss(std::string("a job's options cannot be read: '") +
                                           field + "' is not a whole number in its range"))
          << text;
    }
  }
  EXPECT_FALSE(JobOptions::Parse(R"({"variants":[{"name":"a","uses":[1e30]}]})").ok());
  EXPECT_FALSE(JobOptions::Parse(R"({"variants":[{"name":"a","uses":[4294967296]}]})").ok());
  const Result<JobOptions> good = JobOptions::Parse(R"({"trials":7,"models":3,"batch":4})");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->trials, 7);
}

TEST(TaskUidTest, DependsOnEveryPart) {
  Proposal proposal;
  proposal.config.family = "fake";
  const Digest uid = TaskUid(Digest{1, 1}, Digest{2, 2}, "cpu", proposal);
  EXPECT_EQ(TaskUid(Digest{1, 1}, Digest{2, 2}, "cpu", proposal), uid);
  EXPECT_NE(TaskUid(Digest{1, 2}, Digest{2, 2}, "cpu", proposal), uid);
  EXPECT_NE(TaskUid(Digest{1, 1}, Digest{2, 1}, "cpu", proposal), uid);
  EXPECT_NE(TaskUid(Digest{1, 1}, Digest{2, 2}, "gpu", proposal), uid);
  proposal.repeat = 1;
  EXPECT_NE(TaskUid(Digest{1, 1}, Digest{2, 2}, "cpu", proposal), uid);
  proposal.repeat = 0;
  proposal.arm = "other";
  EXPECT_EQ(TaskUid(Digest{1, 1}, Digest{2, 2}, "cpu", proposal), uid);
}

TEST(JobRunTest, ASearchThatEndsByItselfSaysWhy) {
  Rig rig(100, /*configs=*/8);
  for (const Trial& trial : rig.run.Advance()) rig.Record(trial);
  rig.run.Advance();
  ASSERT_TRUE(rig.run.Finished());
  EXPECT_EQ(rig.run.WhyEarly(), "stopped early, after 8 of 100 trials: nothing is left to try");
  Rig spent(8, /*configs=*/1000);
  for (const Trial& trial : spent.run.Advance()) spent.Record(trial);
  spent.run.Advance();
  ASSERT_TRUE(spent.run.Finished());
  EXPECT_EQ(spent.run.WhyEarly(), "");
}

TEST(JobRunTest, TrialsSideBySideHaveTheSameInputs) {
  Proposal proposal;
  proposal.config = *schedule::Config::Parse("fake/1 x=3");
  const Digest uid{1, 2}, other{3, 4}, job_id{5, 6}, workload{7, 8};
  EXPECT_EQ(SeedOf(uid, job_id, workload, proposal), uid.low);
  proposal.group = 1;
  const uint64_t seed = SeedOf(uid, job_id, workload, proposal);
  EXPECT_EQ(SeedOf(other, job_id, workload, proposal), seed);
  EXPECT_NE(SeedOf(uid, job_id, other, proposal), seed);
  proposal.group = 2;
  EXPECT_NE(SeedOf(uid, job_id, workload, proposal), seed);
}

}  // namespace
}  // namespace mlc::server
