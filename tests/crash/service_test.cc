// Jobs of a server through real processes: they need no client, survive a hundred kills of the
// server, and are listed, joined, watched and cancelled by whoever comes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/rng.h"
#include "client/service/tuner_client.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/crash/process.h"

namespace mlc::crash {
namespace {

using ::testing::HasSubstr;

constexpr int kKills = 100;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "/mlc-service-" + std::to_string(getpid()) + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    setenv("FAKE_WORKER_ACKS", Path("acks").c_str(), 1);
    std::ofstream(Path("tiny.onnx"), std::ios::binary) << TinyModel();
  }
  ~ServiceTest() override {
    for (const pid_t pid : processes_) Kill(pid);
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Address() const { return "unix:" + Path("socket"); }
  static std::string Program(const std::string& name) {
    return std::string(MLC_BINARY_DIR) + "/" + name;
  }
  pid_t Start(const std::vector<std::string>& arguments, const std::string& messages) {
    const pid_t pid = Spawn(arguments, Path(messages));
    processes_.insert(pid);
    return pid;
  }
  pid_t StartServer() {
    return Start({Program("bin/mlc-server"), "--log", Path("tuning.db"), "--listen", Address(),
                  "--lease-ms", "30000", "--canaries", "off"},
                 "messages");
  }
  // One that answers: mlc-tune waits for seconds only.
  pid_t StartServerAndWait() {
    const pid_t server = StartServer();
    while (!Answers(Path("socket")) && Running(server)) Doze(5'000);
    return server;
  }
  pid_t StartWorker(const std::string& name, int trial_ms = 1) {
    return Start({Program("tests/mlc-fake-worker"), "--server", Address(), "--name", name,
                  "--threads", "2", "--trial-ms", std::to_string(trial_ms)},
                 "messages");
  }
  void KillNow(pid_t pid) {
    processes_.erase(pid);
    Kill(pid);
  }

  struct Outcome {
    int code = -1;
    std::string text;
    // Words for people stand around it.
    nlohmann::json json() const {
      const size_t from = std::min(text.find('{'), text.size());
      return nlohmann::json::parse(text.substr(from, text.rfind('}') + 1 - from), nullptr, false);
    }
  };
  std::vector<std::string> TuneCommand(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {Program("bin/mlc-tune"), "--server", Address()});
    return arguments;
  }
  // mlc-tune at the server, to its end.
  Outcome Tune(std::vector<std::string> arguments) {
    const std::string file = "tune-" + std::to_string(++runs_);
    Outcome outcome;
    outcome.code = Wait(Spawn(TuneCommand(std::move(arguments)), Path(file)));
    outcome.text = Text(file);
    return outcome;
  }
  Outcome Submit(int trials, int seed = 0) {
    return Tune({"--model", Path("tiny.onnx"), "--threads", "2", "--trials", std::to_string(trials),
                 "--seed", std::to_string(seed), "--detach", "--json"});
  }
  std::string Text(const std::string& name) const {
    std::ifstream file(Path(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  std::string Messages() const {
    const std::string text = Text("messages");
    return text.substr(text.size() > 2000 ? text.size() - 2000 : 0);
  }
  size_t Acknowledged() const {
    std::ifstream acks(Path("acks"));
    std::set<std::string> known;
    for (std::string line; std::getline(acks, line);) known.insert(line);
    return known.size();
  }
  static void Doze(uint64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

  std::string folder_;
  std::set<pid_t> processes_;
  int runs_ = 0;
  Rng rng_{static_cast<uint64_t>(getpid())};
};

TEST_F(ServiceTest, AJobWithoutAClientOutlivesAHundredKillsOfTheServer) {
  pid_t server = StartServerAndWait();
  for (const char* name : {"a", "b"}) StartWorker(name);
  const Outcome submitted = Submit(1500);
  ASSERT_EQ(submitted.code, 0) << submitted.text;
  const std::string job = submitted.json()["job"];
  for (int round = 0; round < kKills; ++round) {
    Doze(rng_.Below(500'000));
    KillNow(server);
    server = StartServer();
  }
  while (!Answers(Path("socket")) && Running(server)) Doze(5'000);
  const Outcome watched = Tune({"watch", job, "--json", "-q"});
  EXPECT_EQ(watched.code, 0) << watched.text << Messages();
  EXPECT_EQ(watched.json()["state"], "done") << watched.text;
  // The search may end before its budget, where nothing more is to be gained.
  const int64_t trials = watched.json()["trials"];
  EXPECT_GT(trials, 100);
  kill(server, SIGTERM);
  processes_.erase(server);
  EXPECT_EQ(Wait(server), 0) << Messages();
  auto log = db::OpenSqliteLogForReading(Path("tuning.db"));
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  EXPECT_EQ((*log)->Stats()->records, trials) << "none lost, none doubled";
  EXPECT_EQ((*log)->Jobs()->size(), 1u);
  EXPECT_EQ((*log)->Jobs()->front().state, db::JobState::kDone);
  std::ifstream acks(Path("acks"));
  for (std::string line; std::getline(acks, line);) {
    const Result<Digest> uid = Digest::Parse(line);
    if (!uid.ok()) continue;  // a torn line
    const auto found = (*log)->Find(*uid);
    ASSERT_TRUE(found.ok() && *found) << "acknowledged and lost: " << line;
  }
  const auto report = db::VerifyLog(Path("tuning.db"));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->problems.empty());
}

TEST_F(ServiceTest, JobsAreListedJoinedWatchedLeftAndCancelled) {
  pid_t server = StartServerAndWait();
  StartWorker("a", /*trial_ms=*/30);
  const Outcome submitted = Submit(100'000);
  ASSERT_EQ(submitted.code, 0) << submitted.text << Messages();
  const std::string job = submitted.json()["job"];
  EXPECT_EQ(submitted.json()["joined"], false);
  const Outcome again = Submit(90'000);
  EXPECT_EQ(again.json()["joined"], true) << again.text;
  EXPECT_EQ(again.json()["job"], job);

  while (Acknowledged() < 50) Doze(5'000);
  Outcome list = Tune({"jobs", "--json"});
  ASSERT_EQ(list.json()["jobs"].size(), 1u) << list.text;
  EXPECT_EQ(list.json()["jobs"][0]["state"], "running");
  EXPECT_EQ(list.json()["jobs"][0]["trials_wanted"], 100'000);
  EXPECT_NE(list.json()["jobs"][0]["owner"], "");
  EXPECT_THAT(Tune({"jobs"}).text, HasSubstr(job.substr(0, 12) + "  running"));

  const pid_t watcher =
      Spawn(TuneCommand({"watch", job.substr(0, 8), "--json-lines"}), Path("watched"));
  while (Text("watched").find("\"progress\"") == std::string::npos && Running(watcher)) Doze(5'000);
  // A server that is killed and comes back meanwhile is waited for.
  KillNow(server);
  server = StartServer();
  const size_t before = Acknowledged();
  while (Acknowledged() < before + 20) Doze(5'000);
  kill(watcher, SIGINT);
  EXPECT_EQ(Wait(watcher), 130) << Text("watched");
  EXPECT_THAT(Text("watched"), HasSubstr("The job goes on at the server."));
  EXPECT_THAT(Text("watched"), HasSubstr("mlc-tune cancel " + job));
  EXPECT_EQ(Tune({"jobs", "--json"}).json()["jobs"][0]["state"], "running");

  const Outcome cancelled = Tune({"cancel", job.substr(0, 8)});
  EXPECT_EQ(cancelled.code, 0) << cancelled.text;
  KillNow(server);
  StartServerAndWait();
  list = Tune({"jobs", "--json"});
  EXPECT_EQ(list.json()["jobs"][0]["state"], "cancelled") << list.text;
  const Outcome watched = Tune({"watch", job, "--json", "-q"});
  EXPECT_EQ(watched.code, 130) << watched.text;
  EXPECT_THAT(watched.text, HasSubstr("The job was cancelled."));
}

TEST_F(ServiceTest, WrongJobsAndVerbsAreToldInWords) {
  StartServerAndWait();
  Outcome outcome = Tune({"cancel", "beef"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.text, HasSubstr("there is no job beef on this server"));
  outcome = Tune({"watch", "nothing"});
  EXPECT_EQ(outcome.code, 65);
  EXPECT_THAT(outcome.text, HasSubstr("'nothing' is not a job id"));
  EXPECT_EQ(Tune({"jobs", "cancel", "beef"}).code, 2);
}

TEST_F(ServiceTest, QuotasAreTold) {
  std::ofstream(Path("quotas.json")) << R"({"default": {"running_jobs": 1}})";
  const pid_t server = Start({Program("bin/mlc-server"), "--log", Path("tuning.db"), "--listen",
                              Address(), "--quotas", Path("quotas.json")},
                             "messages");
  while (!Answers(Path("socket")) && Running(server)) Doze(5'000);
  ASSERT_EQ(Submit(100).code, 0) << Messages();
  const Outcome refused = Submit(100, 1);
  EXPECT_EQ(refused.code, 75) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("has 1 jobs running; the server's quota is 1"));
  // Without a restart.
  std::ofstream(Path("quotas.new")) << R"({"default": {"running_jobs": 2}})";
  std::filesystem::rename(Path("quotas.new"), Path("quotas.json"));
  while (Submit(100, 1).code == 75) Doze(50'000);
  EXPECT_THAT(Text("messages"), HasSubstr("quotas: read again"));
}

}  // namespace
}  // namespace mlc::crash
