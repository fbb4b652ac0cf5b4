// A server that places its workers by a real Slurm, and everything that goes wrong there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "server/fleet/slurm_provider.h"
#include "tests/crash/process.h"
#include "tests/e2e/fleet/fleet_fixture.h"
#include "tests/slurm/private_slurm.h"

namespace mlc::fleet_e2e {
namespace {

using server::fleet::PlacedState;
using server::fleet::SlurmJob;

class SlurmFleetTest : public FleetFixture {
 protected:
  void SetUp() override {
    cluster_ = std::make_unique<slurm::PrivateSlurm>(folder_ + "/slurm", 3);
    if (!cluster_->trouble().empty()) {
      GTEST_SKIP() << "no Slurm on this machine: " << cluster_->trouble();
    }
  }
  void TearDown() override {
    KillServer();
    cluster_.reset();
  }

  nlohmann::json Config(int max) const {
    return {{"name", "lab"},
            {"poll_s", 0.2},
            {"slurm_conf", cluster_->conf()},
            {"pools",
             {{{"name", "cpu"},
               {"max", max},
               {"trials_per_worker", 8},
               {"idle_s", 8},
               {"lost_s", 6},
               {"drain_s", 30},
               {"first_backoff_s", 0.5},
               {"worker",
                {Program("tests/mlc-fake-worker"), "--threads", "2", "--trial-ms", "500", "--slots",
                 "4"}},
               {"slurm",
                {{"script", std::string(MLC_SOURCE_DIR) + "/deploy/slurm/worker.sbatch"},
                 {"options", {"--cpus-per-task=2"}}}}}}}};
  }
  // A controller that is busy is asked again.
  std::vector<SlurmJob> Jobs() const {
    std::vector<SlurmJob> found;
    EXPECT_TRUE(Await("squeue answers", [&] {
      auto jobs = server::fleet::ReadSqueue(cluster_->Run("squeue --json"), "lab",
                                            std::to_string(geteuid()));
      if (jobs.ok()) found = *std::move(jobs);
      return jobs.ok();
    }));
    return found;
  }
  bool AwaitState(int64_t job, const std::string& state) const {
    return Await("job " + std::to_string(job) + " is " + state, [&] {
      return cluster_->Run("scontrol show job " + std::to_string(job)).find("JobState=" + state) !=
             std::string::npos;
    });
  }
  // Not cancelled, nor ended by Slurm.
  bool AwaitCompleted(int64_t job) const { return AwaitState(job, "COMPLETED"); }
  // Each worker fills its node.
  nlohmann::json WholeNodes(int max) const {
    nlohmann::json config = Config(max);
    config["pools"][0]["slurm"]["options"] = {"--cpus-per-task=4"};
    return config;
  }
  // A job that takes one of the nodes from a worker.
  int64_t SubmitUrgent() const {
    return std::atoll(cluster_
                          ->Run("sbatch --parsable --partition=urgent --cpus-per-task=4 "
                                "--output=/dev/null --wrap='sleep 10000'")
                          .c_str());
  }
  // The one of `jobs` that does not run any more.
  int64_t AwaitGone(const std::set<int64_t>& jobs) const {
    int64_t gone = 0;
    EXPECT_TRUE(Await("one of the jobs is over", [&] {
      const std::set<int64_t> now = Running();
      for (const int64_t job : jobs) gone = now.contains(job) ? gone : job;
      return gone != 0;
    }));
    return gone;
  }
  // What mlc-tune printed at its end.
  nlohmann::json Report() const {
    std::ifstream file(Path("tune.out"));
    std::string last;
    for (std::string line; std::getline(file, line);) last = line.starts_with("{") ? line : last;
    return nlohmann::json::parse(last, nullptr, false);
  }
  void ExpectAllTrials(int trials) const {
    const nlohmann::json report = Report();
    EXPECT_EQ(report.value("state", ""), "done") << report;
    EXPECT_EQ(report.value("trials", 0), trials) << report;
  }
  std::set<int64_t> Running() const {
    std::set<int64_t> ids;
    for (const SlurmJob& job : Jobs()) {
      if (job.worker.state == PlacedState::kRunning) ids.insert(job.id);
    }
    return ids;
  }
  // `count` jobs run, and there are no others.
  bool AwaitJobs(size_t count) const {
    return Await(std::to_string(count) + " jobs are there, all running",
                 [&] { return Running().size() == count && Jobs().size() == count; });
  }
  int64_t Results() const {
    std::ifstream file(Path("acks"));
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  }
  bool AwaitMoreResults() const {
    const int64_t before = Results();
    return Await("results go on coming", [&] { return Results() > before + 20; });
  }

  std::unique_ptr<slurm::PrivateSlurm> cluster_;
};

TEST_F(SlurmFleetTest, JobsComeWithTheQueueAndAreDrainedAfterIt) {
  StartServer("slurm", Config(3));
  EXPECT_TRUE(Jobs().empty());
  Tune(120);
  EXPECT_TRUE(AwaitAttached(3));
  const std::set<int64_t> running = Running();
  ASSERT_EQ(running.size(), 3u);
  EXPECT_EQ(WaitForTune(), 0);
  EXPECT_TRUE(AwaitJobs(0));
  for (const int64_t job : running) EXPECT_TRUE(AwaitCompleted(job)) << "drained, not cancelled";
}

TEST_F(SlurmFleetTest, ACancelledWorkerIsReplaced) {
  StartServer("slurm", Config(2));
  Tune(100'000);
  ASSERT_TRUE(AwaitAttached(2));
  const std::set<int64_t> before = Running();
  ASSERT_EQ(before.size(), 2u);
  (void)cluster_->Run("scancel " + std::to_string(*before.begin()));
  EXPECT_TRUE(Await("another job runs", [&] {
    const std::set<int64_t> now = Running();
    return now.size() == 2 && !now.contains(*before.begin());
  }));
  EXPECT_TRUE(AwaitAttached(2));
  (void)cluster_->Run("scancel --signal=KILL --full " + std::to_string(*before.rbegin()));
  EXPECT_TRUE(Await("both are others", [&] {
    const std::set<int64_t> now = Running();
    return now.size() == 2 && !now.contains(*before.rbegin());
  }));
  EXPECT_TRUE(AwaitAttached(2));
}

TEST_F(SlurmFleetTest, ADeadNodesWorkersAreReplacedBeforeSlurmRequeuesThem) {
  StartServer("slurm", Config(3));
  Tune(100'000);
  ASSERT_TRUE(AwaitAttached(3));
  // The node that Slurm chose first.
  const std::vector<SlurmJob> jobs = Jobs();
  ASSERT_FALSE(jobs.empty());
  const std::string dead =
      jobs.front().worker.where.substr(jobs.front().worker.where.rfind("on n"));
  std::set<int64_t> lost;
  for (const SlurmJob& job : jobs) {
    if (job.worker.where.ends_with(dead)) lost.insert(job.id);
  }
  const std::string number = dead.substr(4);
  ASSERT_TRUE(cluster_->Do("kill-node " + number));
  EXPECT_TRUE(Await("others work instead", [&] {
    std::set<int64_t> now;
    for (const SlurmJob& job : Jobs()) {
      const bool elsewhere =
          job.worker.where.find("on n") != std::string::npos && !job.worker.where.ends_with(dead);
      if (elsewhere && !lost.contains(job.id)) now.insert(job.id);
    }
    return now.size() == 3;
  }));
  EXPECT_TRUE(AwaitAttached(3));
  // Whatever Slurm starts again when the node is back does not stay.
  ASSERT_TRUE(cluster_->Do("start-node " + number));
  EXPECT_TRUE(AwaitJobs(3));
  EXPECT_TRUE(AwaitMoreResults());
}

TEST_F(SlurmFleetTest, TheFleetSurvivesTheControllersDeathAndItsReturn) {
  // Nobody leaves for lack of trials where a busy machine's search is slow.
  nlohmann::json config = Config(3);
  config["pools"][0]["idle_s"] = 120;
  StartServer("slurm", config);
  Tune(100'000);
  ASSERT_TRUE(AwaitAttached(3));
  const std::set<int64_t> before = Running();
  ASSERT_EQ(before.size(), 3u);
  // Slurm saves its state at most five seconds after a change (SAVE_MAX_WAIT). Jobs whose start it
  // had not saved are ended and queued again when the controller returns.
  std::this_thread::sleep_for(std::chrono::seconds(8));
  ASSERT_TRUE(cluster_->Do("kill-controller"));
  EXPECT_TRUE(Await("the server notices",
                    [&] { return Said().find("fleet: list: ") != std::string::npos; }));
  EXPECT_TRUE(AwaitMoreResults());
  EXPECT_TRUE(AwaitAttached(3));
  ASSERT_TRUE(cluster_->Do("start-controller"));
  EXPECT_TRUE(Await("the server finds it again",
                    [&] { return Said().find("fleet: list: works again") != std::string::npos; }));
  EXPECT_TRUE(AwaitMoreResults());
  EXPECT_TRUE(AwaitJobs(3));
  EXPECT_EQ(Running(), before) << "the same jobs, none started or ended\n" << Said();
}

TEST_F(SlurmFleetTest, AKilledServersWorkersWorkForTheNextOne) {
  StartServer("slurm", Config(3));
  Tune(240);
  ASSERT_TRUE(AwaitAttached(3));
  const std::set<int64_t> before = Running();
  KillServer();
  StartServer("slurm", Config(3));
  EXPECT_TRUE(AwaitAttached(3));
  EXPECT_EQ(Running(), before);
  EXPECT_EQ(WaitForTune(), 0);
  EXPECT_TRUE(AwaitJobs(0));
}

TEST_F(SlurmFleetTest, AWorkerNearItsTimeLimitDrainsAndIsReplaced) {
  nlohmann::json config = Config(1);
  config["pools"][0]["slurm"]["time_limit_s"] = 60;
  config["pools"][0]["slurm"]["warning_s"] = 50;
  StartServer("slurm", config);
  Tune(100'000);
  ASSERT_TRUE(AwaitAttached(1));
  const std::set<int64_t> running = Running();
  ASSERT_FALSE(running.empty());
  const int64_t first = *running.begin();
  EXPECT_TRUE(Await("a successor runs", [&] {
    const std::set<int64_t> now = Running();
    return !now.empty() && *now.rbegin() > first;
  }));
  EXPECT_TRUE(Await("the first has left", [&] { return !Running().contains(first); }));
  EXPECT_TRUE(AwaitCompleted(first)) << "drained in time";
}

TEST_F(SlurmFleetTest, APreemptedWorkerDrainsWithinTheGraceAndIsReplaced) {
  (void)cluster_->Run("scontrol update partitionname=main gracetime=600");
  StartServer("slurm", WholeNodes(3));
  Tune(240);
  ASSERT_TRUE(AwaitAttached(3));
  const std::set<int64_t> before = Running();
  ASSERT_EQ(before.size(), 3u);
  const int64_t urgent = SubmitUrgent();
  ASSERT_GT(urgent, 0);
  const int64_t preempted = AwaitGone(before);
  EXPECT_TRUE(AwaitCompleted(preempted)) << "drained, neither killed nor requeued";
  EXPECT_TRUE(AwaitState(urgent, "RUNNING"));
  EXPECT_THAT(Said(), ::testing::HasSubstr("drained: Slurm preempts it"));
  // Its successor waits for room.
  (void)cluster_->Run("scancel " + std::to_string(urgent));
  EXPECT_EQ(WaitForTune(), 0);
  ExpectAllTrials(240);
}

TEST_F(SlurmFleetTest, APreemptedWorkerThatOutlastsItsGraceIsNotStartedAgain) {
  (void)cluster_->Run("scontrol update partitionname=main gracetime=600");
  nlohmann::json config = WholeNodes(3);
  nlohmann::json& pool = config["pools"][0];
  pool["lost_s"] = pool["drain_s"] = 600;
  // A trial that does not end, so that nothing is drained before the grace time is over.
  pool["worker"] = {Program("tests/mlc-fake-worker"), "--threads", "2", "--trial-ms", "10000000"};
  StartServer("slurm", config);
  Tune(100'000);
  ASSERT_TRUE(AwaitAttached(3));
  const int64_t urgent = SubmitUrgent();
  ASSERT_GT(urgent, 0);
  ASSERT_TRUE(Await("one is preempted and told to drain", [&] {
    return Said().find("drained: Slurm preempts it") != std::string::npos;
  }));
  int64_t preempted = 0;
  for (const SlurmJob& job : Jobs()) preempted = job.worker.evicted.empty() ? preempted : job.id;
  ASSERT_GT(preempted, 0);
  // What Slurm does at the end of the grace time.
  (void)cluster_->Run("scontrol requeue " + std::to_string(preempted));
  EXPECT_TRUE(AwaitState(urgent, "RUNNING"));
  EXPECT_TRUE(AwaitState(preempted, "CANCELLED"));
  EXPECT_THAT(cluster_->Run("scontrol show job " + std::to_string(preempted)),
              ::testing::HasSubstr("Restarts=1"));
  EXPECT_THAT(Said(), ::testing::HasSubstr("requeued after it was drained"));
  // Its successor waits for room.
  (void)cluster_->Run("scancel " + std::to_string(urgent));
  EXPECT_TRUE(AwaitJobs(3));
  EXPECT_FALSE(Running().contains(preempted));
  EXPECT_TRUE(AwaitAttached(3));
}

TEST_F(SlurmFleetTest, ADrainedNodesWorkerLeavesAndWorksElsewhere) {
  StartServer("slurm", WholeNodes(2));
  Tune(100'000);
  ASSERT_TRUE(AwaitAttached(2));
  const std::vector<SlurmJob> jobs = Jobs();
  ASSERT_EQ(jobs.size(), 2u);
  const std::string node = jobs[0].node;
  (void)cluster_->Run("scontrol update nodename=" + node + " state=drain reason='new memory'");
  EXPECT_TRUE(AwaitCompleted(jobs[0].id)) << "drained, not cancelled";
  EXPECT_TRUE(Await("the node is empty", [&] {
    return cluster_->Run("sinfo -h -p main -n " + node + " -o %T").starts_with("drained");
  }));
  EXPECT_THAT(Said(), ::testing::HasSubstr("drained: node " + node + " is draining: new memory"));
  EXPECT_TRUE(AwaitJobs(2));
  for (const SlurmJob& job : Jobs()) EXPECT_NE(job.node, node);
  EXPECT_TRUE(AwaitAttached(2));
  EXPECT_TRUE(AwaitMoreResults());
}

TEST_F(SlurmFleetTest, WhatSlurmRefusesIsToldAndTriedAgain) {
  nlohmann::json config = Config(2);
  config["pools"][0]["slurm"]["partition"] = "nowhere";
  StartServer("slurm", config);
  Tune(100'000);
  EXPECT_TRUE(Await("the server tells", [&] {
    return Said().find("fleet: start: sbatch ended with") != std::string::npos &&
           Said().find("invalid partition") != std::string::npos;
  }));
  EXPECT_TRUE(Jobs().empty());
  // The site mends it.
  (void)cluster_->Run("scontrol create partitionname=nowhere nodes=ALL state=up");
  EXPECT_TRUE(AwaitAttached(2));
}

TEST_F(SlurmFleetTest, ARealWorkerTunesAModelToTheEnd) {
  nlohmann::json config = Config(1);
  config["pools"][0]["worker"] = {Program("bin/mlc-worker"), "--threads", "2", "--builders", "1"};
  config["pools"][0]["lost_s"] = 60;
  StartServer("slurm", config);
  Tune(12);
  EXPECT_EQ(WaitForTune(), 0) << Said();
  EXPECT_TRUE(AwaitJobs(0));
  EXPECT_EQ(StopServer(), 0);
}

}  // namespace
}  // namespace mlc::fleet_e2e
