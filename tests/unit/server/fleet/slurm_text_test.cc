// What is said to Slurm and how its answers are read; tests/slurm runs the real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/fleet/slurm_provider.h"

namespace mlc::server::fleet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

std::string Jobs(const std::string& jobs) { return R"({"errors": [], "jobs": [)" + jobs + "]}"; }

std::string Job(const std::string& state, const std::string& comment = "mlc-fleet:lab:cpu:w1",
                const std::string& more = "") {
  return R"({"job_id": 7, "user_id": 500, "user_name": "mlc", "nodes": "n1", "restart_cnt": 0, "comment": ")" +
         comment + R"(", "job_state": )" + state + more + "}";
}

TEST(ReadSqueueTest, FindsTheJobsOfThisFleetAlone) {
  const auto jobs = ReadSqueue(
      Jobs(Job(R"("RUNNING")") + "," + Job(R"("RUNNING")", "mlc-fleet:other:cpu:w2") + "," +
           Job(R"("RUNNING")", "") + "," + Job(R"("RUNNING")", "mlc-fleet:lab:cpu")),
      "lab", "500");
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_EQ((*jobs)[0].id, 7);
  EXPECT_EQ((*jobs)[0].worker.name, "w1");
  EXPECT_EQ((*jobs)[0].worker.pool, "cpu");
  EXPECT_EQ((*jobs)[0].worker.where, "job 7 on n1");
}

// Whoever may submit a job may write our comment into it.
TEST(ReadSqueueTest, JobsOfOtherUsersAreNotOurs) {
  const std::string ours = Job(R"("PENDING")");
  const std::string forged =
      R"({"job_id": 8, "user_id": 501, "user_name": "500", "job_state": "PENDING",
          "comment": "mlc-fleet:lab:cpu:w2"})";
  const std::string nobodys =
      R"({"job_id": 9, "job_state": "PENDING", "comment": "mlc-fleet:lab:cpu:w3"})";
  for (const char* user : {"500", "mlc"}) {
    const auto jobs = ReadSqueue(Jobs(forged + "," + nobodys + "," + ours), "lab", user);
    ASSERT_TRUE(jobs.ok());
    ASSERT_EQ(jobs->size(), 1u) << user;
    EXPECT_EQ((*jobs)[0].worker.name, "w1");
  }
  for (const char* user : {"0", "50", "root"}) {
    EXPECT_TRUE(ReadSqueue(Jobs(forged + "," + nobodys + "," + ours), "lab", user)->empty());
  }
}

TEST(ReadSqueueTest, ReadsTheStatesOfOlderAndNewerVersions) {
  const auto state = [](const std::string& text) -> std::optional<PlacedState> {
    const auto jobs = ReadSqueue(Jobs(Job(text)), "lab", "500");
    if (!jobs.ok() || jobs->empty()) return std::nullopt;
    return (*jobs)[0].worker.state;
  };
  EXPECT_EQ(state(R"("PENDING")"), PlacedState::kPending);
  EXPECT_EQ(state(R"(["PENDING"])"), PlacedState::kPending);
  EXPECT_EQ(state(R"("CONFIGURING")"), PlacedState::kPending);
  EXPECT_EQ(state(R"(["RUNNING"])"), PlacedState::kRunning);
  EXPECT_EQ(state(R"("COMPLETING")"), PlacedState::kEnding);
  EXPECT_EQ(state(R"(["CANCELLED", "COMPLETING"])"), PlacedState::kEnding);
  for (const char* over : {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL"}) {
    EXPECT_EQ(state("\"" + std::string(over) + "\""), std::nullopt) << over;
  }
}

TEST(ReadSqueueTest, ARestartedJobIsRequeued) {
  const std::string newer =
      R"({"job_id": {"set": true, "number": 9}, "user_id": 500, "restart_cnt": {"set": true, "number": 2},
          "comment": "mlc-fleet:lab:cpu:w", "job_state": ["PENDING"]})";
  const auto jobs = ReadSqueue(Jobs(newer), "lab", "500");
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 1u);
  EXPECT_TRUE((*jobs)[0].worker.requeued);
  EXPECT_EQ((*jobs)[0].id, 9);
}

TEST(ReadSqueueTest, APreemptedJobWithinItsGraceTimeIsEvicted) {
  const auto evicted = [](const std::string& more) {
    const auto jobs =
        ReadSqueue(Jobs(Job(R"("RUNNING")", "mlc-fleet:lab:cpu:w1", more)), "lab", "500");
    EXPECT_TRUE(jobs.ok() && jobs->size() == 1);
    return (*jobs)[0].worker.evicted;
  };
  EXPECT_EQ(evicted(""), "");
  EXPECT_EQ(evicted(R"(, "preempt_time": 0)"), "");
  EXPECT_EQ(evicted(R"(, "preempt_time": 1795354544)"), "Slurm preempts it");
  EXPECT_EQ(evicted(R"(, "preempt_time": {"set": true, "number": 1795354544})"),
            "Slurm preempts it");
}

TEST(ReadDrainingNodesTest, FindsThoseThatAreToBecomeEmpty) {
  // A node is there once for each of its partitions.
  const auto nodes = ReadDrainingNodes(
      "n0 draining gpu Xid 79 | see ticket\nn0 draining gpu Xid 79 | see ticket\n"
      "n1 mixed none\nn2 draining@ Reboot ASAP\nn3 failing none\nn4 allocated* none\n\nn5\n");
  EXPECT_THAT(nodes, ElementsAre(Pair("n0", "node n0 is draining: gpu Xid 79 | see ticket"),
                                 Pair("n2", "node n2 is draining@: Reboot ASAP"),
                                 Pair("n3", "node n3 is failing: none")));
}

TEST(ReadSqueueTest, StrangeDocumentsAreErrorsAndStrangeJobsPassedOver) {
  for (const char* text : {"", "[]", "{}", R"({"jobs": 1})", "slurm_load_jobs error"}) {
    EXPECT_EQ(ReadSqueue(text, "lab", "500").status().code(), StatusCode::kInvalidArgument) << text;
  }
  const auto jobs =
      ReadSqueue(Jobs(R"(1, {}, {"job_id": "7"}, {"job_id": -1, "comment": "mlc-fleet:lab:cpu:w"},
              {"job_id": 3, "comment": 4, "job_state": 5})"),
                 "lab", "500");
  ASSERT_TRUE(jobs.ok());
  EXPECT_TRUE(jobs->empty());
}

TEST(ReadSqueueTest, NoJobsWithAnErrorIsNoAnswer) {
  const auto jobs =
      ReadSqueue(R"({"errors": [{"error": "no controller"}], "jobs": []})", "lab", "500");
  EXPECT_EQ(jobs.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(jobs.status().message(), ::testing::HasSubstr("no controller"));
}

TEST(SbatchWordsTest, EveryWordIsOneArgument) {
  const auto config = ParseFleetConfig(Kind::kSlurm, R"({"name": "lab", "pools": [
      {"name": "gpu", "worker": ["/opt/my worker", "--target", "cuda; rm -rf $HOME"],
       "slurm": {"script": "/opt/worker.sbatch", "partition": "p", "gres": "gpu:1",
                 "time_limit_s": 3600, "options": ["--qos=low"]}}]})");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  const auto words = SbatchWords(*config, "gpu", "host:1", "lab-gpu-b-1");
  EXPECT_EQ(words[0], "sbatch");
  for (const char* word :
       {"--comment=mlc-fleet:lab:gpu:lab-gpu-b-1", "--requeue", "--signal=B:TERM@60", "--time=60",
        "--partition=p", "--gres=gpu:1", "--qos=low"}) {
    EXPECT_THAT(words, Contains(word));
  }
  const auto script = std::ranges::find(words, "/opt/worker.sbatch");
  EXPECT_THAT(std::vector<std::string>(script, words.end()),
              ElementsAre("/opt/worker.sbatch", "/opt/my worker", "--target", "cuda; rm -rf $HOME",
                          "--server", "host:1", "--name", "lab-gpu-b-1"));
}

}  // namespace
}  // namespace mlc::server::fleet
