// Programs killed at random moments, a hundred times: no acknowledged trial is lost, the log stays
// sound, the job goes on and ends.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include "base/rng.h"
#include "client/service/tuner_client.h"
#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/crash/process.h"

namespace mlc::crash {
namespace {

constexpr int kKillsOfTune = 50;
constexpr int kKillsOfServer = 50;
// So many trials, at least, are made between the kills.
constexpr size_t kTrials = 100;

class CrashTest : public ::testing::Test {
 protected:
  CrashTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "/mlc-crash-" + std::to_string(getpid()) + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    setenv("FAKE_WORKER_ACKS", Path("acks").c_str(), 1);
    std::ofstream(Path("tiny.onnx"), std::ios::binary) << TinyModel();
  }
  ~CrashTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string Program(const std::string& name) {
    return std::string(MLC_BINARY_DIR) + "/" + name;
  }
  std::vector<std::string> Tune(int trials) const {
    return {Program("bin/mlc-tune"),
            "--model",
            Path("tiny.onnx"),
            "--trials",
            std::to_string(trials),
            "--log",
            Path("tuning.db"),
            "--worker",
            Program("tests/mlc-fake-worker"),
            "--target",
            "cpu",
            "--threads",
            "2",
            "--json"};
  }
  // A moment that falls anywhere: start, search, commits.
  void Doze(int most_ms) {
    std::this_thread::sleep_for(
        std::chrono::microseconds(rng_.Below(static_cast<uint64_t>(most_ms) * 1000)));
  }
  bool AnyAcknowledged() const {
    std::error_code missing;
    const auto size = std::filesystem::file_size(Path("acks"), missing);
    return !missing && size > 0;
  }
  std::string Messages() const {
    std::ifstream file(Path("messages"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return text.substr(text.size() > 2000 ? text.size() - 2000 : 0);
  }

  // What a worker was told is kept; not a torn last line.
  std::set<Digest> Acknowledged() const {
    std::ifstream acks(Path("acks"));
    std::set<Digest> known;
    for (std::string line; std::getline(acks, line);) {
      const Result<Digest> uid = Digest::Parse(line);
      if (uid.ok()) known.insert(*uid);
    }
    return known;
  }

  // Every trial that a worker was told is kept is in the log, and the log is sound.
  size_t CheckAcknowledged() {
    if (!std::filesystem::exists(Path("tuning.db"))) return 0;
    auto log = db::OpenSqliteLog(Path("tuning.db"));
    EXPECT_TRUE(log.ok()) << log.status().ToString();
    if (!log.ok()) return 0;
    const std::set<Digest> known = Acknowledged();
    for (const Digest& uid : known) {
      const auto found = (*log)->Find(uid);
      EXPECT_TRUE(found.ok() && *found) << "lost " << uid.ToText();
    }
    log->reset();
    const auto report = db::VerifyLog(Path("tuning.db"));
    EXPECT_TRUE(report.ok() && report->problems.empty());
    return known.size();
  }

  std::string folder_;
  Rng rng_{static_cast<uint64_t>(getpid())};
};

TEST_F(CrashTest, KillingTuneLosesNothingAndItResumes) {
  size_t acknowledged = 0;
  int most_ms = 500;
  for (int round = 0; round < kKillsOfTune || acknowledged <= kTrials; ++round) {
    const pid_t tune = Spawn(Tune(100'000), Path("messages"));
    Doze(most_ms);
    Kill(tune);
    const size_t before = std::exchange(acknowledged, CheckAcknowledged());
    ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << Messages();
    // A slow machine needs longer to get anywhere.
    if (acknowledged == before && acknowledged <= kTrials) most_ms += most_ms / 8;
  }
  const auto trials = static_cast<int>(acknowledged) + 200;
  EXPECT_EQ(Wait(Spawn(Tune(trials), Path("messages"))), 0) << Messages();
  EXPECT_GE(CheckAcknowledged(), acknowledged);
  auto log = db::OpenSqliteLogForReading(Path("tuning.db"));
  ASSERT_EQ((*log)->Jobs()->size(), 1u) << "it resumed one job";
  EXPECT_EQ((*log)->Jobs()->front().state, db::JobState::kDone);
}

TEST_F(CrashTest, InterruptingTuneEndsCleanlyAndTheCommandResumes) {
  const pid_t tune = Spawn(Tune(100'000), Path("messages"));
  while (!AnyAcknowledged() && Running(tune)) Doze(20);
  kill(tune, SIGINT);
  EXPECT_EQ(Wait(tune), 130) << Messages();
  EXPECT_NE(Messages().find("mlc-tune --model"), std::string::npos);
  EXPECT_GT(CheckAcknowledged(), 0u);
  EXPECT_EQ(Wait(Spawn(Tune(100), Path("messages"))), 0) << Messages();
}

TEST_F(CrashTest, KillingServerOrWorkerLosesNothingAndTheJobGoesOn) {
  const std::string address = "unix:" + Path("socket");
  const std::vector<std::string> server = {
      Program("bin/mlc-server"), "--log", Path("tuning.db"), "--listen", address, "--lease-ms",
      "1000",
      // What a canary trial measures is acknowledged, too, and in no log.
      "--canaries", "off"};
  const std::vector<std::string> worker = {Program("tests/mlc-fake-worker"), "--server", address,
                                           "--threads", "2"};
  pid_t server_pid = Spawn(server, Path("messages"));
  pid_t worker_pid = Spawn(worker, Path("messages"));
  while (!Answers(Path("socket")) && Running(server_pid)) Doze(20);
  const pid_t tune = Spawn({Program("bin/mlc-tune"), "--model", Path("tiny.onnx"), "--trials",
                            "100000", "--server", address, "--threads", "2", "-q"},
                           Path("messages"));
  while (!AnyAcknowledged() && Running(tune)) Doze(20);
  Kill(tune);
  for (int round = 0; round < kKillsOfServer; ++round) {
    Doze(400);
    const bool both = rng_.Below(4) == 0;
    if (both || rng_.Below(2) == 0) {
      Kill(server_pid);
      CheckAcknowledged();
      ASSERT_FALSE(HasFailure()) << "round " << round << "\n" << Messages();
      server_pid = Spawn(server, Path("messages"));
    } else {
      Kill(worker_pid);
      worker_pid = Spawn(worker, Path("messages"));
    }
  }
  while (Acknowledged().size() <= kTrials && Running(server_pid)) Doze(20);
  Kill(worker_pid);
  // The last round may have started the server just now: it handles signals once it serves.
  while (!Answers(Path("socket")) && Running(server_pid)) Doze(20);
  kill(server_pid, SIGTERM);
  EXPECT_EQ(Wait(server_pid), 0) << Messages();
  EXPECT_GT(CheckAcknowledged(), kTrials);
}

}  // namespace
}  // namespace mlc::crash
