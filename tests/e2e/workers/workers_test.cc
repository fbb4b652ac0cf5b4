// A server and real workers as processes, and faults in between: a worker killed, a worker stopped
// beyond its lease, a server killed while results are on their way, results sent twice, out of
// order and forged, workers drained. After each: what was acknowledged is in the log, nothing is
// there twice, no failure has a time, and the job has ended.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/wire/protocol.h"
#include "compiler/target/target.h"
#include "db/snapshot/verify.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/crash/process.h"
#include "tests/e2e/workers/lab.h"
#include "worker/agent/spool.h"

namespace mlc::e2e {
namespace {

using crash::Kill;
using crash::Spawn;
using crash::Wait;

class WorkersTest : public Lab {
 protected:
  // A worker whose canary takes long because the machine is busy would rest for a while.
  void StartServer(int lease_ms = 30'000, const std::string& canaries = "off") {
    Lab::StartServer({"--lease-ms", std::to_string(lease_ms), "--canaries", canaries});
  }
  pid_t StartWorker(const std::string& name) {
    return Spawn({Program("mlc-worker"), "--server", Address(), "--threads", "1", "--builders", "1",
                  "--slots", "8", "--name", name, "--state", Path("state"), "--verbose"},
                 Path("messages"));
  }
  static target::Target Machine() { return target::DetectHost(1); }
  // Small products: a trial takes milliseconds.
  std::string Submit(int64_t trials) {
    std::vector<std::string> workloads;
    for (const std::string n : {"16", "24"}) {
      workloads.push_back("workload v1 tolerance=1e-04 {\n%0 = input() : f32[" + n +
                          ",48]\n%1 = weight() : f32[48,32]\n%2 = matmul(%0, %1) : f32[" + n +
                          ",32]\nreturn %2\n}\n");
    }
    return Lab::Submit(workloads, Machine().ToText(), trials, /*batch=*/8);
  }
  // Results in the worker's file that the server does not know.
  size_t Unsent(const std::string& worker) const {
    std::error_code missing;
    const std::string copy = Path("copy.spool");
    std::filesystem::copy_file(Path("state/" + worker + ".spool"), copy,
                               std::filesystem::copy_options::overwrite_existing, missing);
    const auto spool = worker::Spool::Open(copy);
    return !missing && spool.ok() ? (*spool)->results().size() : 0;
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
};

// As under a supervisor that does not care, or a shell with trap '' CHLD: an end that nobody can be
// told of would make a crashed kernel look like one that said nothing.
TEST_F(WorkersTest, OneThatIsStartedWithEndsOfChildrenIgnoredHearsOfThem) {
  StartServer();
  one_ =
      Spawn({"/bin/sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", Program("mlc-worker"), "--server",
             Address(), "--threads", "1", "--builders", "1", "--name", "one", "--verbose"},
            Path("messages"));
  const std::string job = Submit(16);
  ASSERT_TRUE(WaitForEnd(job)) << Messages();
  std::ifstream status("/proc/" + std::to_string(one_) + "/status");
  uint64_t ignored = ~uint64_t{0};
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigIgn:")) ignored = std::stoull(line.substr(7), nullptr, 16);
  }
  EXPECT_EQ(ignored >> (SIGCHLD - 1) & 1, 0u);
  kill(one_, SIGTERM);
  EXPECT_EQ(Wait(one_), 0) << Messages();
  one_ = -1;
  CheckLog();
}

TEST_F(WorkersTest, WorkersKilledAtAnyMomentCostNoTrial) {
  StartServer(/*lease_ms=*/30'000, "on");
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
  const std::string job = Submit(160);
  // Stopped, the worker holds what the server says that it does.
  ASSERT_TRUE(WaitFor([&] {
    kill(one_, SIGSTOP);
    const bool holds = Progress(job).trials() > 0 && Line("one").holding() > 3;
    if (!holds) kill(one_, SIGCONT);
    return holds;
  })) << Messages();
  Kill(server_);
  kill(one_, SIGCONT);
  // What is measured meanwhile waits in the worker's file.
  ASSERT_TRUE(WaitFor([&] { return Unsent("one") > 0; })) << Messages();
  Kill(one_);
  StartServer();
  one_ = StartWorker("one");
  EXPECT_TRUE(WaitForEnd(job)) << Messages();
  EXPECT_TRUE(Said("results of an earlier run to send"));
  kill(one_, SIGTERM);
  EXPECT_EQ(Wait(one_), 0) << Messages();
  one_ = -1;
  EXPECT_GE(CheckLog(), 150);
}

TEST_F(WorkersTest, ADrainedWorkerFinishesAndLeaves) {
  StartServer();
  one_ = StartWorker("one");
  const std::string job = Submit(80);
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
  EXPECT_GE(CheckLog(), 76);
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
  StartServer();
  const std::string job = Submit(24);
  proto::SynchronizeRequest request;
  request.set_protocol(server::kWireProtocol);
  request.set_worker("raw");
  request.set_incarnation("1");
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
    m.set_machine_speed(1);
  };
  std::set<std::string> lied;
  std::set<std::string> seen;
  uint64_t sequence = 0;
  const auto deadline = std::chrono::steady_clock::now() + kTimeout;
  while (Progress(job).state() == proto::RUNNING) {
    request.set_sequence(++sequence);
    const proto::SynchronizeReply reply = call();
    for (const proto::Refusal& refusal : reply.refused()) EXPECT_NE(refusal.reason(), "");
    const auto before = request.finished();
    request.clear_finished();
    const size_t lies_before = lied.size();
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
    // Not the lie: an old call's results are looked at, too.
    if (sequence % 3 == 0 && lied.size() == lies_before) {
      EXPECT_TRUE(call().stale()) << "the same call once more";
    }
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  EXPECT_EQ(lied.size(), 1u);
  EXPECT_EQ(Line("raw").refused(), 1);
  EXPECT_EQ(CheckLog(), 24);
}

}  // namespace
}  // namespace mlc::e2e
