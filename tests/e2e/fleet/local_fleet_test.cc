// A server that starts its workers itself, and one that a site's command starts them for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/crash/process.h"
#include "tests/e2e/fleet/fleet_fixture.h"

namespace mlc::fleet_e2e {
namespace {

class LocalFleetTest : public FleetFixture {
 protected:
  nlohmann::json Config(int max) const {
    return {
        {"name", "lab"},
        {"poll_s", 0.1},
        {"command", {std::string(MLC_SOURCE_DIR) + "/tests/conformance/fleet/hook.py", folder_}},
        {"pools",
         {{{"name", "cpu"},
           {"max", max},
           {"trials_per_worker", 8},
           {"idle_s", 5},
           {"lost_s", 6},
           {"first_backoff_s", 0.2},
           {"worker", {Program("tests/mlc-fake-worker"), "--threads", "2", "--trial-ms", "20"}}}}}};
  }
  // Processes whose command line names this test's server.
  std::vector<pid_t> Workers() const {
    std::vector<pid_t> pids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      std::ifstream file(entry.path() / "cmdline");
      std::ostringstream text;
      text << file.rdbuf();
      if (text.str().find("fake-worker") != std::string::npos &&
          text.str().find(address_) != std::string::npos) {
        pids.push_back(pid);
      }
    }
    return pids;
  }
  bool AwaitWorkers(size_t count) const {
    return Await(std::to_string(count) + " workers run", [&] { return Workers().size() == count; });
  }
};

TEST_F(LocalFleetTest, WorkersComeWithTheQueueAndGoAfterIt) {
  StartServer("local", Config(3));
  EXPECT_TRUE(Workers().empty());
  // Work for 20 s, were there one worker.
  Tune(1000);
  EXPECT_EQ(WaitForTune(), 0);
  EXPECT_TRUE(WereAttached(3));
  EXPECT_TRUE(AwaitWorkers(0));
  EXPECT_EQ(StopServer(), 0);
}

TEST_F(LocalFleetTest, AKilledWorkerIsReplacedAndTheJobEnds) {
  StartServer("local", Config(2));
  Tune(3000);
  ASSERT_TRUE(AwaitAttached(2));
  const std::vector<pid_t> before = Workers();
  ASSERT_EQ(before.size(), 2u);
  kill(before.front(), SIGKILL);
  EXPECT_TRUE(Await("another worker is there", [&] {
    const std::vector<pid_t> now = Workers();
    return now.size() == 2 && std::ranges::find(now, before.front()) == now.end();
  }));
  EXPECT_EQ(WaitForTune(), 0);
}

TEST_F(LocalFleetTest, NoWorkerOutlivesAKilledServer) {
  StartServer("local", Config(2));
  Tune(100'000);
  ASSERT_TRUE(AwaitAttached(2));
  KillServer();
  EXPECT_TRUE(AwaitWorkers(0));
}

TEST_F(LocalFleetTest, WorkersOfACommandOutliveAKilledServerAndWorkForTheNext) {
  StartServer("exec", Config(2));
  Tune(3000);
  ASSERT_TRUE(AwaitAttached(2));
  std::vector<pid_t> before = Workers();
  KillServer();
  StartServer("exec", Config(2));
  EXPECT_TRUE(AwaitAttached(2));
  std::vector<pid_t> after = Workers();
  std::ranges::sort(before);
  std::ranges::sort(after);
  EXPECT_EQ(after, before);
  EXPECT_EQ(WaitForTune(), 0);
  EXPECT_TRUE(AwaitWorkers(0));
}

TEST_F(LocalFleetTest, ABadConfigurationIsRefusedBeforeAnythingStarts) {
  std::ofstream(Path("bad.json")) << R"({"pools": [{"name": "cpu", "maximum": 3}]})";
  const pid_t server =
      crash::Spawn({Program("bin/mlc-server"), "--log", Path("tuning.db"), "--listen",
                    "127.0.0.1:0", "--fleet", "local", "--fleet-config", Path("bad.json")},
                   Path("server.log"));
  EXPECT_EQ(crash::Wait(server), 78);
  EXPECT_THAT(Said(), ::testing::HasSubstr("pools[0].maximum: there is no such setting"));
  EXPECT_FALSE(std::filesystem::exists(Path("tuning.db")));
}

}  // namespace
}  // namespace mlc::fleet_e2e
