// A server and real workers as processes, and faults in between: a worker killed, a worker stopped
// beyond its lease, a server killed while results are on their way, results sent twice, out of
// order and forged, workers drained. After each: what was acknowledged is in the log, nothing is
// there twice, no failure has a time, and the job has ended.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "compiler/graph/workload.h"
#include "compiler/target/target.h"
#include "db/sqlite_log.h"
#include "db/verify.h"
#include "proto/tuner.grpc.pb.h"
#include "proto/worker.grpc.pb.h"
#include "server/protocol.h"
#include "tests/crash/process.h"

namespace mlc::e2e {
namespace {

using crash::Kill;
using crash::Spawn;
using crash::Wait;

constexpr std::chrono::seconds kPatience(240);

class WorkersTest : public ::testing::Test {
 protected:
  WorkersTest() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "/mlc-workers-" + std::to_string(getpid()) + info->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/state");
  }
  ~WorkersTest() override {
    for (const pid_t pid : {server_, one_, two_}) {
      if (pid > 0) kill(pid, SIGKILL);
    }
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::string Address() const { return "unix:" + Path("socket"); }
  static std::string Program(const std::string& name) {
    return std::string(MLC_BINARY_DIR) + "/bin/" + name;
  }
  void StartServer(int lease_ms = 30'000, const std::string& canaries = "on") {
    server_ = Spawn({Program("mlc-server"), "--log", Path("tuning.db"), "--listen", Address(),
                     "--lease-ms", std::to_string(lease_ms), "--canaries", canaries},
                    Path("messages"));
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    channel_ = grpc::CreateCustomChannel(Address(), grpc::InsecureChannelCredentials(), arguments);
    ASSERT_TRUE(channel_->WaitForConnected(std::chrono::system_clock::now() + kPatience));
    workers_ = proto::Workers::NewStub(channel_);
    tuner_ = proto::Tuner::NewStub(channel_);
  }
  pid_t StartWorker(const std::string& name) {
    return Spawn({Program("mlc-worker"), "--server", Address(), "--threads", "1", "--builders", "1",
                  "--slots", "8", "--name", name, "--state", Path("state"), "--verbose"},
                 Path("messages"));
  }
  static target::Target Machine() { return target::DetectHost(1); }
  // Small products: a trial takes milliseconds.
  std::string Submit(int64_t trials) {
    proto::SubmitJobRequest request;
    for (int size : {16, 24}) {
      const std::string n = std::to_string(size);
      proto::Task& task = *request.add_tasks();
      task.set_workload(
          graph::Workload::Parse("workload v1 tolerance=1e-04 {\n%0 = input() : f32[" + n +
                                 ",48]\n%1 = weight() : f32[48,32]\n"
                                 "%2 = matmul(%0, %1) : f32[" +
                                 n +
                                 ",32]\n"
                                 "return %2\n}\n")
              ->ToText());
      task.set_occurrences(1);
    }
    request.set_target(Machine().ToText());
    request.mutable_options()->set_trials(trials);
    request.mutable_options()->set_batch(8);
    proto::SubmitJobReply reply;
    grpc::ClientContext context;
    const grpc::Status status = tuner_->SubmitJob(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply.job();
  }
  proto::JobProgress Progress(const std::string& job) {
    proto::WatchJobRequest request;
    request.set_job(job);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    auto reader = tuner_->WatchJob(&context, request);
    proto::JobProgress progress;
    (void)reader->Read(&progress);
    context.TryCancel();
    (void)reader->Finish();
    return progress;
  }
  template <typename Condition>
  bool WaitFor(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  bool WaitForEnd(const std::string& job) {
    return WaitFor([&] { return Progress(job).state() == proto::DONE; });
  }
  proto::WorkerLine Line(const std::string& worker) {
    proto::ListWorkersReply reply;
    grpc::ClientContext context;
    (void)workers_->ListWorkers(&context, {}, &reply);
    for (const proto::WorkerLine& line : reply.workers()) {
      if (line.worker() == worker) return line;
    }
    return {};
  }
  std::string Messages() const {
    std::ifstream file(Path("messages"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return text.substr(text.size() > 3000 ? text.size() - 3000 : 0);
  }
  bool Said(const std::string& words) const {
    std::ifstream file(Path("messages"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return text.find(words) != std::string::npos;
  }
  // Stops the server; what its log holds is sound, and no failure has a time.
  int64_t CheckLog() {
    kill(server_, SIGTERM);
    EXPECT_EQ(Wait(server_), 0) << Messages();
    server_ = -1;
    const auto report = db::VerifyLog(Path("tuning.db"));
    EXPECT_TRUE(report.ok() && report->problems.empty());
    auto log = db::OpenSqliteLogForReading(Path("tuning.db"));
    std::set<Digest> uids;
    const auto records = (*log)->List({});
    for (const db::Record& record : *records) {
      EXPECT_TRUE(uids.insert(record.task_uid).second);
      EXPECT_NE(record.measurement.outcome, Outcome::kInfra);
      if (record.measurement.outcome != Outcome::kOk &&
          record.measurement.outcome != Outcome::kTooSlow) {
        EXPECT_EQ(record.measurement.median_ns, 0);
      }
    }
    return static_cast<int64_t>(uids.size());
  }

  std::string folder_;
  pid_t server_ = -1;
  pid_t one_ = -1;
  pid_t two_ = -1;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<proto::Workers::Stub> workers_;
  std::unique_ptr<proto::Tuner::Stub> tuner_;
};

TEST_F(WorkersTest, WorkersKilledAtAnyMomentCostNoTrial) {
  StartServer();
  one_ = StartWorker("one");
  two_ = StartWorker("two");
  const std::string job = Submit(64);
  // Between the first results and the last: builds and runs are under way.
  for (int64_t trials : {4, 16, 28}) {
    ASSERT_TRUE(WaitFor([&] { return Progress(job).trials() >= trials; })) << Messages();
    Kill(one_);
    one_ = StartWorker("one");
  }
  EXPECT_TRUE(WaitForEnd(job)) << Messages();
  EXPECT_EQ(Progress(job).trials(), 64);
  EXPECT_GE(CheckLog(), 60);
}

TEST_F(WorkersTest, AStoppedWorkerLosesItsLeasesAndItsLateResultsDoNoHarm) {
  StartServer(/*lease_ms=*/1500);
  one_ = StartWorker("one");
  const std::string job = Submit(48);
  ASSERT_TRUE(WaitFor([&] { return Line("one").holding() > 0; })) << Messages();
  kill(one_, SIGSTOP);
  two_ = StartWorker("two");
  EXPECT_TRUE(WaitForEnd(job)) << Messages();
  kill(one_, SIGCONT);
  kill(one_, SIGTERM);
  EXPECT_EQ(Wait(one_), 0) << Messages();
  one_ = -1;
  EXPECT_GE(CheckLog(), 44);
}

TEST_F(WorkersTest, ResultsOutliveAServerAndAWorkerKilledTogether) {
  StartServer();
  one_ = StartWorker("one");
  const std::string job = Submit(48);
  ASSERT_TRUE(WaitFor([&] { return Progress(job).trials() > 0 && Line("one").holding() > 3; }))
      << Messages();
  const auto before = std::filesystem::file_size(Path("state/one.spool"));
  Kill(server_);
  // What is measured meanwhile waits in the worker's file.
  const std::string spool = Path("state/one.spool");
  ASSERT_TRUE(WaitFor([&] {
    std::error_code missing;
    const auto size = std::filesystem::file_size(spool, missing);
    return !missing && size > before;
  })) << Messages();
  Kill(one_);
  StartServer();
  one_ = StartWorker("one");
  EXPECT_TRUE(WaitForEnd(job)) << Messages();
  EXPECT_TRUE(Said("results of an earlier run to send"));
  kill(one_, SIGTERM);
  EXPECT_EQ(Wait(one_), 0) << Messages();
  one_ = -1;
  EXPECT_GE(CheckLog(), 44);
}

TEST_F(WorkersTest, ADrainedWorkerFinishesAndLeaves) {
  StartServer();
  one_ = StartWorker("one");
  const std::string job = Submit(40);
  ASSERT_TRUE(WaitFor([&] { return Line("one").holding() > 0; })) << Messages();
  proto::DrainWorkerRequest request;
  request.set_worker("one");
  request.set_reason("to be cleaned");
  proto::DrainWorkerReply reply;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(workers_->DrainWorker(&context, request, &reply).ok());
  }
  EXPECT_EQ(Wait(one_), 0) << Messages();
  one_ = -1;
  EXPECT_EQ(Line("one").holding(), 0);
  request.set_worker("nobody");
  grpc::ClientContext context;
  EXPECT_EQ(workers_->DrainWorker(&context, request, &reply).error_code(),
            grpc::StatusCode::NOT_FOUND);
  two_ = StartWorker("two");
  EXPECT_TRUE(WaitForEnd(job)) << Messages();
  EXPECT_GE(CheckLog(), 36);
}

TEST_F(WorkersTest, WhatAPersonDecidedOutlivesTheServer) {
  StartServer();
  one_ = StartWorker("one");
  ASSERT_TRUE(WaitFor([&] { return Line("one").state() == proto::READY; })) << Messages();
  proto::QuarantineWorkerRequest request;
  request.set_worker("one");
  request.set_reason("the fan is broken");
  {
    proto::QuarantineWorkerReply reply;
    grpc::ClientContext context;
    ASSERT_TRUE(workers_->QuarantineWorker(&context, request, &reply).ok());
  }
  Kill(server_);
  Kill(one_);
  StartServer();
  // Known before it has called.
  EXPECT_EQ(Line("one").state(), proto::QUARANTINED);
  EXPECT_EQ(Line("one").reason(), "the fan is broken");
  one_ = StartWorker("one");
  two_ = StartWorker("two");
  const std::string job = Submit(24);
  EXPECT_TRUE(WaitForEnd(job)) << Messages();
  EXPECT_EQ(Line("one").results(), 0);
  EXPECT_EQ(Line("one").state(), proto::QUARANTINED);
  proto::ReleaseWorkerRequest release;
  release.set_worker("one");
  {
    proto::ReleaseWorkerReply reply;
    grpc::ClientContext context;
    ASSERT_TRUE(workers_->ReleaseWorker(&context, release, &reply).ok());
  }
  EXPECT_TRUE(WaitFor([&] { return Line("one").state() == proto::READY; })) << Messages();
  Kill(server_);
  StartServer();
  EXPECT_TRUE(WaitFor([&] { return Line("one").state() == proto::READY; })) << Messages();
  CheckLog();
}

// What a worker can say that it should not, over the wire.
TEST_F(WorkersTest, RepeatedReorderedAndForgedResultsLeaveOneHonestRecordEach) {
  // A worker that lies would fail its canary trial and get no other.
  StartServer(/*lease_ms=*/30'000, "off");
  const std::string job = Submit(24);
  proto::SynchronizeRequest request;
  request.set_protocol(server::kWireProtocol);
  request.set_worker("raw");
  request.set_boot("1");
  request.set_build("raw");
  target::Target machine = Machine();
  machine.fma_gflops = 50;
  request.set_target(machine.ToText());
  request.set_want(8);
  const auto call = [&] {
    proto::SynchronizeReply reply;
    grpc::ClientContext context;
    const grpc::Status status = workers_->Synchronize(&context, request, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return reply;
  };
  const auto add = [&](const std::string& uid, double ns) {
    proto::TrialResult& result = *request.add_finished();
    result.set_task_uid(uid);
    proto::Measurement& m = *result.mutable_measurement();
    m.set_outcome(proto::OK);
    m.set_median_ns(ns);
    m.set_p10_ns(ns);
    m.set_p90_ns(ns);
    m.set_runs(9);
    m.set_calm(1);
  };
  std::set<std::string> lied;
  std::set<std::string> seen;
  uint64_t sequence = 0;
  while (Progress(job).state() == proto::RUNNING) {
    request.set_sequence(++sequence);
    const proto::SynchronizeReply reply = call();
    for (const proto::Refusal& refusal : reply.refused()) EXPECT_NE(refusal.reason(), "");
    const auto before = request.finished();
    request.clear_finished();
    // The newest first; each twice, and the last call's once more.
    for (int i = reply.leases_size() - 1; i >= 0; --i) {
      const std::string& uid = reply.leases(i).task_uid();
      const bool lies = lied.size() < 1 && seen.size() > 4 && !seen.contains(uid);
      seen.insert(uid);
      if (lies) lied.insert(uid);
      add(uid, lies ? -1 : 20'000);
      if (!lies) add(uid, 20'000);
    }
    for (const proto::TrialResult& again : before) {
      // The lie is told once: it would use up the trial's attempts.
      if (again.measurement().median_ns() > 0) *request.add_finished() = again;
    }
    request.set_sequence(sequence);
    if (sequence % 3 == 0) {
      EXPECT_TRUE(call().stale()) << "the same call once more";
    }
    ASSERT_LT(sequence, 10'000u);
  }
  EXPECT_EQ(lied.size(), 1u);
  EXPECT_EQ(Line("raw").refused(), 1);
  EXPECT_EQ(CheckLog(), 24);
}

}  // namespace
}  // namespace mlc::e2e
