// Jobs that the server does not survive. Servers that end for good are child processes here, each
// with a tuner on the same log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>

#include "base/check.h"
#include "base/wire/protocol.h"
#include "db/sqlite/sqlite_log.h"
#include "server/jobs/crash_marker.h"
#include "server/jobs/job_request.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kPoison = 666;

TEST_F(TunerTest, AFailedCheckInASearchFailsItsJobAlone) {
  own_stories_ = true;
  before_start_ = [](uint64_t seed) { MLC_CHECK(seed != kPoison) << "a defect"; };
  Restart();
  const std::string bad = tuner_->Submit(WithSeed(Request(20), kPoison), Submitter("eve"))->job();
  const std::string good = tuner_->Submit(Request(20), Submitter("ada"))->job();
  Work(bad);
  EXPECT_EQ(tuner_->Progress(bad)->state(), proto::FAILED);
  EXPECT_THAT(tuner_->Progress(bad)->detail(), HasSubstr("check failed: seed != kPoison a defect"));
  Work(good);
  EXPECT_EQ(tuner_->Progress(good)->state(), proto::DONE);
}

// A server in a child process.
class CrashTest : public ::testing::Test {
 protected:
  CrashTest() : folder_(::testing::TempDir() + "/mlc-crashes-test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CrashTest() override { std::filesystem::remove_all(folder_); }

  using Life = std::function<void(WireTuner&, const db::TuningLog&)>;
  // The signal that ended the server, 0 if its life just ended. `before_start`: of each search.
  int Live(const std::function<void(uint64_t seed)>& before_start, const Life& life) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      {
        auto log = db::OpenSqliteLog(Log());
        if (!log.ok() || !InstallCrashMarker(Log() + ".crashed").ok()) _exit(1);
        TunerOptions options;
        options.logger = std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::null_sink_mt>());
        options.search_threads = 4;
        options.crash_marker = Log() + ".crashed";
        options.strategy = [&](SearchInput input) {
          before_start(input.seed);
          return std::make_unique<FakeStrategy>(std::move(input), 1000,
                                                std::make_shared<std::string>());
        };
        WireTuner tuner(**log, std::move(options));
        if (!tuner.Start().ok()) _exit(1);
        life(tuner, **log);
      }
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) return WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return 0;
  }

  std::string Log() const { return folder_ + "/tuning.db"; }
  std::map<uint64_t, db::JobRow> Rows() const {
    std::map<uint64_t, db::JobRow> rows;
    for (db::JobRow& row : *(*db::OpenSqliteLogForReading(Log()))->Jobs()) {
      const uint64_t seed = JobOptions::Parse(row.options)->seed;
      rows[seed] = std::move(row);
    }
    return rows;
  }

 private:
  std::string folder_;
};

proto::SubmitJobRequest RequestOf(uint64_t seed) {
  proto::SubmitJobRequest request;
  proto::Task& task = *request.add_tasks();
  task.set_workload(MakeWorkload(8).ToText());
  task.set_occurrences(1);
  request.set_target(target::Target().ToText());
  request.mutable_options()->set_trials(20);
  request.mutable_options()->set_seed(seed);
  return request;
}

// One call of a worker, which returns `results` of what it was given.
int CallOnce(WireTuner& tuner, proto::SynchronizeRequest& request, int results) {
  request.set_protocol(kWireProtocol);
  request.set_worker("w0");
  request.set_incarnation(std::to_string(getpid()));
  request.set_build("test");
  request.set_target(TargetText());
  request.set_want(4);
  std::promise<Result<proto::SynchronizeReply>> promise;
  tuner.Synchronize(
      request, [&](Result<proto::SynchronizeReply> reply) { promise.set_value(std::move(reply)); });
  const Result<proto::SynchronizeReply> reply = promise.get_future().get();
  request.clear_finished();
  if (!reply.ok()) return 0;
  for (const proto::Lease& lease : reply->leases()) {
    if (request.finished_size() == results) break;
    proto::TrialResult& result = *request.add_finished();
    result.set_task_uid(lease.task_uid());
    *result.mutable_measurement() =
        ToWire(FakeMeasurement((*schedule::Config::Parse(lease.config()))["x"]));
  }
  return reply->acknowledged_size();
}

// Until all jobs of the log have ended.
void WorkAll(WireTuner& tuner, const db::TuningLog& log) {
  proto::SynchronizeRequest request;
  while (!log.Jobs({.state = db::JobState::kRunning})->empty()) {
    (void)CallOnce(tuner, request, 4);
  }
}

// Runs out of its stack, unless `most` is small.
int Deeper(int most) {
  volatile char here[4096];
  here[0] = static_cast<char>(most);
  return most == 0 ? 0 : Deeper(most - 1) + here[0];
}

// Jobs of four seeds at the same time, again and again until a server lives: how often one crashed
// until then.
class HostileJobTest : public CrashTest {
 protected:
  int CrashesUntilAllHasEnded(int expected_signal,
                              const std::function<void(uint64_t seed)>& before_start) {
    int signal = Live(before_start, [](WireTuner& tuner, const db::TuningLog& log) {
      for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, kPoison, uint64_t{3}}) {
        if (!tuner.Submit(RequestOf(seed), Submitter("ada")).ok()) _exit(1);
      }
      WorkAll(tuner, log);
    });
    int crashes = 0;
    for (; signal != 0 && crashes < 20; ++crashes) {
      EXPECT_EQ(signal, expected_signal);
      signal = Live(before_start, WorkAll);
    }
    return crashes;
  }
  void ExpectThatThePoisonAloneFailed() const {
    auto rows = Rows();
    EXPECT_EQ(rows[kPoison].state, db::JobState::kFailed);
    EXPECT_THAT(rows[kPoison].detail, HasSubstr("the server crashed 3 times while it computed"));
    EXPECT_THAT(rows[kPoison].detail, HasSubstr("submit the job again"));
    for (const uint64_t seed : {1, 2, 3}) {
      EXPECT_EQ(rows[seed].state, db::JobState::kDone) << seed;
      EXPECT_EQ(rows[seed].crashes, 0) << "none of the others is to blame";
      EXPECT_EQ(rows[seed].trials, 20);
    }
  }
};

TEST_F(HostileJobTest, AJobThatCrashesTheServerIsFailedAndTheOthersGoOn) {
  const auto before_start = [](uint64_t seed) {
    if (seed == kPoison) std::abort();
  };
  EXPECT_EQ(CrashesUntilAllHasEnded(SIGABRT, before_start), 3);
  ExpectThatThePoisonAloneFailed();
  const auto submit = [](WireTuner& tuner, const db::TuningLog& log) {
    if (!tuner.Submit(RequestOf(kPoison), Submitter("ada")).ok()) _exit(1);
    WorkAll(tuner, log);
  };
  EXPECT_EQ(Live(before_start, submit), SIGABRT);
  EXPECT_EQ(Rows()[kPoison].state, db::JobState::kRunning) << "it is tried again";
  EXPECT_EQ(Rows()[kPoison].crashes, 0) << "and has three times more";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(HostileJobTest, SoIsOneThatRunsOutOfItsStack) {
  const auto before_start = [](uint64_t seed) {
    if (seed == kPoison) (void)Deeper(1'000'000);
  };
  EXPECT_EQ(CrashesUntilAllHasEnded(SIGSEGV, before_start), 3);
  ExpectThatThePoisonAloneFailed();
}
#endif

TEST_F(CrashTest, WhoeverKillsTheServerCountsAgainstNoJob) {
  for (int life = 0; life < 8; ++life) {
    const auto killed = [](uint64_t) { (void)std::raise(SIGKILL); };
    EXPECT_EQ(Live(killed,
                   [&](WireTuner& tuner, const db::TuningLog& log) {
                     if (life == 0 && !tuner.Submit(RequestOf(1), Submitter("ada")).ok()) _exit(1);
                     WorkAll(tuner, log);
                   }),
              SIGKILL);
  }
  EXPECT_EQ(Live([](uint64_t) {}, WorkAll), 0);
  EXPECT_EQ(Rows()[1].state, db::JobState::kDone);
  EXPECT_EQ(Rows()[1].crashes, 0);
}

TEST(CrashMarker, TornLinesAreIgnored) {
  const std::string path = ::testing::TempDir() + "/mlc-crash-marker";
  std::ofstream(path) << "00000000000000010000000000000002\n0000\n\nnonsense\n"
                      << "00000000000000010000000000000002\n000000000000000100";
  EXPECT_THAT(CrashedJobs(path), ::testing::ElementsAre(Digest{1, 2}, Digest{1, 2}));
  ClearCrashMarker(path);
  EXPECT_THAT(CrashedJobs(path), ::testing::IsEmpty());
  std::filesystem::remove(path);
  EXPECT_THAT(CrashedJobs(path), ::testing::IsEmpty());
  EXPECT_THAT(CrashedJobs(""), ::testing::IsEmpty());
  EXPECT_EQ(InstallCrashMarker("/nowhere/at/all").code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace mlc::server
