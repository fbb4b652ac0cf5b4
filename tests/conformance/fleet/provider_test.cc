// The contract of every provider, held against all that place workers: local, exec with a command
// of this test and with the one for Kubernetes (kubectl is this test's), and Slurm with a real
// cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "server/fleet/exec_provider.h"
#include "server/fleet/local_provider.h"
#include "server/fleet/slurm_provider.h"
#include "tests/slurm/private_slurm.h"

namespace mlc::server::fleet {
namespace {

constexpr std::chrono::seconds kTimeout(90);
constexpr const char* kServer = "127.0.0.1:1";

// One cluster for all tests of this program.
slurm::PrivateSlurm& Cluster() {
  static slurm::PrivateSlurm cluster(
      std::filesystem::temp_directory_path() / ("mlc-fleet-slurm-" + std::to_string(getpid())), 2);
  return cluster;
}

struct Case {
  const char* name;
  Kind kind;
  std::vector<std::string> command;  // of exec, from the source folder
};

class ProviderTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    if (GetParam().kind == Kind::kSlurm && !Cluster().trouble().empty()) {
      GTEST_SKIP() << "no Slurm on this machine: " << Cluster().trouble();
    }
    setenv("FAKE_CLUSTER", folder_.c_str(), 1);
    static const std::string path = std::getenv("PATH");
    setenv("PATH", (MLC_SOURCE_DIR "/tests/conformance/fleet/kubectl:" + path).c_str(), 1);
    config_ = Config({"odd word;$(x)", "\"quoted\" 'word' *"});
    provider_ = Make();
  }
  void TearDown() override {
    if (provider_ != nullptr) {
      for (const PlacedWorker& worker : List()) (void)provider_->Kill(worker.name);
      Await([&] { return List().empty(); });
    }
    provider_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::vector<std::string> Hook() const {
    std::vector<std::string> words = GetParam().command;
    if (words.empty()) return words;
    words[0] = MLC_SOURCE_DIR "/" + words[0];
    words.push_back(words.size() == 1 ? folder_ : "tests");
    return words;
  }
  FleetConfig Config(const std::vector<std::string>& words) const {
    const std::string here = std::string(MLC_SOURCE_DIR);
    nlohmann::json worker = {here + "/tests/conformance/fleet/worker.sh", folder_};
    for (const std::string& word : words) worker.push_back(word);
    nlohmann::json json = {
        {"name", "conf"},
        {"command", Hook()},
        {"pools",
         {{{"name", "cpu"},
           {"worker", worker},
           {"slurm", {{"script", here + "/deploy/slurm/worker.sbatch"}}}},
          {{"name", "other"}, {"slurm", {{"script", here + "/deploy/slurm/worker.sbatch"}}}}}}};
    if (GetParam().kind == Kind::kSlurm) json["slurm_conf"] = Cluster().conf();
    const auto config = ParseFleetConfig(GetParam().kind, json.dump());
    EXPECT_TRUE(config.ok()) << config.status().ToString();
    return *config;
  }
  std::unique_ptr<Provider> Make() const {
    switch (GetParam().kind) {
      case Kind::kLocal:
        return MakeLocalProvider(config_, kServer);
      case Kind::kExec:
        return MakeExecProvider(config_, kServer, {});
      default:
        return MakeSlurmProvider(config_, kServer, {});
    }
  }

  template <typename Condition>
  static bool Await(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  std::vector<PlacedWorker> List() const {
    const auto listed = provider_->List();
    EXPECT_TRUE(listed.ok()) << listed.status().ToString();
    return listed.ok() ? *listed : std::vector<PlacedWorker>();
  }
  std::optional<PlacedState> StateOf(const std::string& name) const {
    for (const PlacedWorker& worker : List()) {
      if (worker.name == name) return worker.state;
    }
    return std::nullopt;
  }
  bool Exists(const std::string& file) const {
    return std::filesystem::exists(folder_ + "/" + file);
  }
  bool Started(const std::string& name) const {
    return Await([&] { return Exists(name + ".alive") && StateOf(name) == PlacedState::kRunning; });
  }
  bool Gone(const std::string& name) const {
    return Await([&] { return StateOf(name) == std::nullopt; });
  }

  const std::string folder_ = std::filesystem::temp_directory_path() /
                              ("mlc-fleet-conformance-" + std::to_string(getpid()));
  FleetConfig config_;
  std::unique_ptr<Provider> provider_;
};

TEST_P(ProviderTest, WorkersThatAreAskedForRunAndAreListedWithTheirPool) {
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1", "conf-cpu-b-2"}).ok());
  EXPECT_TRUE(Started("conf-cpu-b-1"));
  EXPECT_TRUE(Started("conf-cpu-b-2"));
  const auto listed = List();
  ASSERT_EQ(listed.size(), 2u);
  for (const PlacedWorker& worker : listed) {
    EXPECT_EQ(worker.pool, "cpu");
    EXPECT_FALSE(worker.requeued);
    EXPECT_FALSE(worker.where.empty());
  }
}

TEST_P(ProviderTest, EveryWordOfTheCommandArrivesAsItIs) {
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1"}).ok());
  ASSERT_TRUE(Started("conf-cpu-b-1"));
  std::ifstream file(folder_ + "/conf-cpu-b-1.alive");
  std::vector<std::string> words;
  for (std::string line; std::getline(file, line);) words.push_back(line);
  EXPECT_THAT(words, ::testing::ElementsAre(folder_, "odd word;$(x)", "\"quoted\" 'word' *",
                                            "--server", kServer, "--name", "conf-cpu-b-1"));
}

TEST_P(ProviderTest, AskingAgainStartsNothing) {
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1"}).ok());
  ASSERT_TRUE(Started("conf-cpu-b-1"));
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1"}).ok());
  EXPECT_EQ(List().size(), 1u);
}

TEST_P(ProviderTest, ADrainedWorkerFinishesAndLeaves) {
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1"}).ok());
  ASSERT_TRUE(Started("conf-cpu-b-1"));
  EXPECT_TRUE(provider_->Drain("conf-cpu-b-1").ok());
  EXPECT_TRUE(Gone("conf-cpu-b-1"));
  EXPECT_TRUE(Exists("conf-cpu-b-1.drained"));
}

TEST_P(ProviderTest, AKilledWorkerIsGoneAndTheOthersStay) {
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1", "conf-cpu-b-2"}).ok());
  ASSERT_TRUE(Started("conf-cpu-b-1") && Started("conf-cpu-b-2"));
  EXPECT_TRUE(provider_->Kill("conf-cpu-b-1").ok());
  EXPECT_TRUE(Gone("conf-cpu-b-1"));
  EXPECT_EQ(StateOf("conf-cpu-b-2"), PlacedState::kRunning);
}

TEST_P(ProviderTest, AWorkerThatDiesIsNotListedAnyMore) {
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1"}).ok());
  ASSERT_TRUE(Started("conf-cpu-b-1"));
  std::ofstream(folder_ + "/conf-cpu-b-1.die") << "now";
  EXPECT_TRUE(Gone("conf-cpu-b-1"));
}

TEST_P(ProviderTest, UnknownWorkersAreNoError) {
  EXPECT_TRUE(provider_->Drain("conf-cpu-b-9").ok());
  EXPECT_TRUE(provider_->Kill("conf-cpu-b-9").ok());
  EXPECT_TRUE(List().empty());
}

TEST_P(ProviderTest, TheNextServerFindsWorkersThatAreNotItsChildren) {
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1"}).ok());
  ASSERT_TRUE(Started("conf-cpu-b-1"));
  provider_.reset();
  provider_ = Make();
  if (GetParam().kind == Kind::kLocal) {
    EXPECT_TRUE(List().empty()) << "local workers end with their server";
    EXPECT_TRUE(Exists("conf-cpu-b-1.drained"));
    return;
  }
  ASSERT_EQ(List().size(), 1u);
  EXPECT_TRUE(provider_->Drain("conf-cpu-b-1").ok());
  EXPECT_TRUE(Gone("conf-cpu-b-1"));
}

class SlurmProviderTest : public ProviderTest {};

// Its comment is ours, word for word: it neither counts nor keeps the real one from starting.
TEST_P(SlurmProviderTest, AJobOfAnotherUserIsNoWorker) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to submit for another user";
  const std::string job = Cluster().Run(
      "sbatch --parsable --uid=65534 --chdir=/ --output=/dev/null "
      "--comment=mlc-fleet:conf:cpu:conf-cpu-b-1 --hold --wrap 'sleep 600'");
  ASSERT_GT(std::atoi(job.c_str()), 0) << job;
  EXPECT_TRUE(List().empty());
  ASSERT_TRUE(provider_->Ensure("cpu", {"conf-cpu-b-1"}).ok());
  EXPECT_TRUE(Started("conf-cpu-b-1"));
  EXPECT_EQ(List().size(), 1u);
  (void)Cluster().Run("scancel " + job);
}

INSTANTIATE_TEST_SUITE_P(Slurm, SlurmProviderTest,
                         ::testing::Values(Case{"slurm", Kind::kSlurm, {}}),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(
    All, ProviderTest,
    ::testing::Values(Case{"local", Kind::kLocal, {}},
                      Case{"exec", Kind::kExec, {"tests/conformance/fleet/hook.py"}},
                      Case{"kubernetes",
                           Kind::kExec,
                           {"deploy/kubernetes/fleet_hook.py",
                            MLC_SOURCE_DIR "/deploy/kubernetes/worker-job.json"}},
                      Case{"slurm", Kind::kSlurm, {}}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace mlc::server::fleet
