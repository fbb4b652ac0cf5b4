// Workers tested and doubted: the tuner on a log in memory, with workers that are functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/spdlog.h>

#include <future>
#include <limits>
#include <thread>

#include "base/wire/protocol.h"
#include "tests/support/db/memory_log.h"
#include "tests/support/server/wire_tuner.h"
#include "tests/unit/server/tuner/fake_strategy.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

constexpr double kHonest = 5000;

Measurement Time(double ns) {
  Measurement m;
  m.outcome = Outcome::kOk;
  m.median_ns = m.p10_ns = m.p90_ns = ns;
  m.runs = 9;
  return m;
}

class TunerChecksTest : public ::testing::Test {
 protected:
  void Start(bool canaries, int64_t confirm_wait_ms = 60'000) {
    TunerOptions options;
    options.logger =
        std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::null_sink_mt>());
    options.health.canaries = canaries;
    options.health.max_bad_results = 2;
    options.health.max_failures_in_a_row = 4;
    options.confirm_wait_ms = confirm_wait_ms;
    options.strategy = [](SearchInput input) {
      return std::make_unique<FakeStrategy>(std::move(input), 1000,
                                            std::make_shared<std::string>());
    };
    tuner_ = std::make_unique<WireTuner>(*log_, std::move(options));
    ASSERT_TRUE(tuner_->Start().ok());
  }
  ~TunerChecksTest() override { tuner_.reset(); }

  static std::string TargetText() {
    target::Target target;
    target.fma_gflops = 100;
    return target.ToText();
  }
  std::string Submit(int64_t trials) {
    proto::SubmitJobRequest request;
    proto::Task& task = *request.add_tasks();
    task.set_workload(MakeWorkload(1 << 20).ToText());
    task.set_occurrences(1);
    request.set_target(target::Target().ToText());
    request.mutable_options()->set_trials(trials);
    request.mutable_options()->set_batch(4);
    const auto reply = tuner_->Submit(request, Caller::Local());
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return reply->job();
  }
  proto::SynchronizeReply Call(const std::string& worker, int want,
                               std::vector<proto::TrialResult> finished = {},
                               std::vector<std::string> holding = {}) {
    proto::SynchronizeRequest request;
    request.set_protocol(kWireProtocol);
    request.set_worker(worker);
    request.set_incarnation("1");
    request.set_build("test");
    request.set_target(TargetText());
    request.set_want(want);
    for (proto::TrialResult& result : finished) *request.add_finished() = std::move(result);
    for (std::string& uid : holding) request.add_holding(std::move(uid));
    std::promise<Result<proto::SynchronizeReply>> promise;
    tuner_->Synchronize(request, [&](Result<proto::SynchronizeReply> reply) {
      promise.set_value(std::move(reply));
    });
    Result<proto::SynchronizeReply> reply = promise.get_future().get();
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    return *std::move(reply);
  }
  static proto::TrialResult Of(const proto::Lease& lease, const Measurement& m) {
    proto::TrialResult result;
    result.set_task_uid(lease.task_uid());
    *result.mutable_measurement() = ToWire(m);
    return result;
  }
  // The next lease of a worker that holds nothing.
  proto::Lease NextLease(const std::string& worker) {
    while (true) {
      proto::SynchronizeReply reply = Call(worker, 1);
      if (reply.leases_size() > 0) return reply.leases(0);
      std::this_thread::yield();
    }
  }
  // So many honest results.
  void Work(const std::string& worker, int count) {
    for (int i = 0; i < count; ++i) {
      const proto::Lease lease = NextLease(worker);
      const auto reply = Call(worker, 0, {Of(lease, Time(kHonest))});
      EXPECT_EQ(reply.acknowledged_size(), 1);
    }
  }
  proto::WorkerLine Line(const std::string& worker) const {
    const proto::ListWorkersReply workers = tuner_->ListWorkers();
    for (const proto::WorkerLine& line : workers.workers()) {
      if (line.worker() == worker) return line;
    }
    return {};
  }
  // What the log holds of a trial.
  db::Record Kept(const proto::Lease& lease) const {
    const auto found = log_->Find(*DigestFromWire(lease.task_uid()));
    return found.ok() && *found ? **found : db::Record();
  }

  std::unique_ptr<db::TuningLog> log_ = db::MakeMemoryLog();
  std::unique_ptr<WireTuner> tuner_;
};

// Wherever it came from: the best of an imported log, for example.
TEST_F(TunerChecksTest, NoCanaryBringsCode) {
  const graph::Workload workload = MakeWorkload(1 << 20);
  ASSERT_TRUE(log_->AddWorkload({workload.digest(), workload.ToText(), ""}).ok());
  db::Record record;
  record.task_uid = Digest{7, 7};
  record.workload = workload.digest();
  record.target = target::Target::Parse(TargetText())->ClassText();
  record.config =
      "user_kernel/1 blocks=1 blocks_y=1 blocks_z=1 threads=32 threads_y=1 threads_z=1 "
      "block_bytes=0 "
      "entry=k source=eJx";
  record.measurement = Time(100);
  record.worker = "other";
  ASSERT_TRUE(db::AppendAndWait(*log_, record).ok());
  Start(true);
  (void)Submit(4);
  EXPECT_THAT(NextLease("w").config(), ::testing::Not(HasSubstr("user_kernel")));
}

TEST_F(TunerChecksTest, ANewWorkerRunsAKnownTrialFirst) {
  Start(/*canaries=*/true);
  Submit(8);
  EXPECT_EQ(Call("a", 4).leases_size(), 0);
  EXPECT_EQ(Line("a").state(), proto::UNTESTED);
  const auto canary = Call("a", 4);
  ASSERT_EQ(canary.leases_size(), 1) << "the canary alone";
  EXPECT_THAT(canary.leases(0).workload(), HasSubstr("matmul"));
  EXPECT_EQ(Call("a", 0, {Of(canary.leases(0), Time(kHonest))}).acknowledged_size(), 1);
  EXPECT_EQ(Line("a").state(), proto::READY);
  Work("a", 8);
  EXPECT_EQ(log_->Stats()->records, 8) << "a canary is no record";
}

TEST_F(TunerChecksTest, AWorkerUnlikeTheOthersOfItsClassIsQuarantined) {
  Start(/*canaries=*/true);
  Submit(1000);
  (void)Call("a", 0);
  (void)Call("a", 0, {Of(NextLease("a"), Time(kHonest))});
  Work("a", 4);
  for (int i = 0; i < 2; ++i) {
    (void)Call("b", 0);
    const proto::Lease canary = NextLease("b");
    EXPECT_THAT(canary.config(), HasSubstr("fake/1")) << "a's best";
    (void)Call("b", 0, {Of(canary, Time(kHonest * 10))});
  }
  EXPECT_EQ(Line("b").state(), proto::QUARANTINED);
  EXPECT_THAT(Line("b").reason(), HasSubstr("other workers of its class take 5.000 us"));
  EXPECT_EQ(Call("b", 4).leases_size(), 0);
  EXPECT_TRUE(tuner_->SetAdminHold("b", AdminHoldKind::kNone, "").ok());
  EXPECT_EQ(Line("b").state(), proto::UNTESTED);
  (void)Call("b", 0);
  (void)Call("b", 0, {Of(NextLease("b"), Time(kHonest * 1.1))});
  EXPECT_EQ(Line("b").state(), proto::READY);
  EXPECT_EQ(tuner_->SetAdminHold("nobody", AdminHoldKind::kNone, "").code(), StatusCode::kNotFound);
}

TEST_F(TunerChecksTest, AWorkerThatCanMakeNothingIsQuarantined) {
  Start(/*canaries=*/true);
  Submit(1000);
  (void)Call("a", 0);
  (void)Call("a", 0, {Of(NextLease("a"), Time(kHonest))});
  for (int i = 0; i < 4; ++i) {
    Measurement failed;
    failed.detail = "no memory";
    (void)Call("a", 0, {Of(NextLease("a"), failed)});
  }
  EXPECT_EQ(Line("a").state(), proto::QUARANTINED);
  EXPECT_THAT(Line("a").reason(), HasSubstr("no memory"));
  EXPECT_EQ(Line("a").failures(), 4);
}

TEST_F(TunerChecksTest, ATimeFarAheadIsKeptWhenASecondWorkerAgrees) {
  Start(false);
  Submit(1000);
  (void)Call("b", 0);
  Work("a", 16);
  const proto::Lease lease = NextLease("a");
  EXPECT_EQ(Call("a", 0, {Of(lease, Time(1000))}).acknowledged_size(), 0) << "not kept yet";
  EXPECT_EQ(Kept(lease).config, "");
  EXPECT_EQ(Call("a", 0, {Of(lease, Time(1000))}).acknowledged_size(), 0) << "nor for asking twice";
  const proto::Lease second = NextLease("b");
  EXPECT_EQ(second.config(), lease.config());
  EXPECT_NE(second.task_uid(), lease.task_uid());
  EXPECT_NE(second.seed(), lease.seed());
  (void)Call("b", 0, {Of(second, Time(1200))});
  EXPECT_EQ(Kept(lease).measurement.median_ns, 1200) << "the slower one";
  EXPECT_EQ(Kept(lease).measurement.detail, "confirmed by worker b");
  EXPECT_EQ(Call("a", 0, {Of(lease, Time(1000))}).acknowledged_size(), 1);
  EXPECT_EQ(log_->Stats()->records, 17);
}

TEST_F(TunerChecksTest, AForgedTimeIsReplacedAndHeldAgainstItsWorker) {
  Start(/*canaries=*/true);
  Submit(1000);
  for (const char* worker : {"a", "b"}) {
    (void)Call(worker, 0);
    (void)Call(worker, 0, {Of(NextLease(worker), Time(kHonest))});
  }
  Work("b", 16);
  for (int i = 0; i < 2; ++i) {
    const proto::Lease lease = NextLease("a");
    (void)Call("a", 0, {Of(lease, Time(i == 0 ? 1000 : 1e-3))});  // once below the floor
    const proto::Lease second = NextLease("b");
    ASSERT_EQ(second.config(), lease.config());
    (void)Call("b", 0, {Of(second, Time(kHonest))});
    EXPECT_EQ(Kept(lease).measurement.median_ns, kHonest);
    EXPECT_EQ(Kept(lease).worker, "b");
  }
  EXPECT_EQ(Line("a").refused(), 2);
  EXPECT_EQ(Line("a").state(), proto::QUARANTINED);
  EXPECT_EQ(Line("b").state(), proto::READY);
}

TEST_F(TunerChecksTest, AloneAWorkerConfirmsItselfWithOtherInputs) {
  Start(false);
  Submit(1000);
  Work("a", 16);
  const proto::Lease lease = NextLease("a");
  (void)Call("a", 0, {Of(lease, Time(1000))});
  const proto::Lease second = NextLease("a");
  EXPECT_EQ(second.config(), lease.config());
  (void)Call("a", 0, {Of(second, Time(1100))});
  EXPECT_THAT(Kept(lease).measurement.detail, HasSubstr("same worker with other inputs"));
}

TEST_F(TunerChecksTest, WhatIsBelowTheFloorTwiceIsNeverKept) {
  Start(false);
  const std::string job = Submit(4);
  (void)Call("b", 0);
  const proto::Lease lease = NextLease("a");
  (void)Call("a", 0, {Of(lease, Time(1e-3))});
  (void)Call("b", 0, {Of(NextLease("b"), Time(2e-3))});
  EXPECT_EQ(Kept(lease).config, "");
  EXPECT_EQ(log_->Stats()->records, 0);
  EXPECT_EQ(Line("a").refused(), 0) << "two agree: it is not the worker";
}

TEST_F(TunerChecksTest, WhatIsNoTimeIsRefusedWithItsReason) {
  Start(false);
  Submit(1000);
  for (double lie :
       {std::numeric_limits<double>::quiet_NaN(), -5.0, std::numeric_limits<double>::infinity()}) {
    const proto::Lease lease = NextLease("a");
    const auto reply = Call("a", 0, {Of(lease, Time(lie))});
    ASSERT_EQ(reply.refused_size(), 1);
    EXPECT_THAT(reply.refused(0).reason(), HasSubstr("time"));
    EXPECT_EQ(reply.acknowledged_size(), 0);
  }
  EXPECT_EQ(Line("a").refused(), 3);
  EXPECT_EQ(log_->Stats()->records, 0);
}

TEST_F(TunerChecksTest, AConfirmationThatNobodyCanMakeEndsTheTrial) {
  Start(false);
  const std::string job = Submit(1);
  const proto::Lease lease = NextLease("a");
  (void)Call("a", 0, {Of(lease, Time(1e-3))});
  while (tuner_->Progress(job)->state() == proto::RUNNING) {
    const auto reply = Call("a", 1);
    for (const proto::Lease& second : reply.leases()) {
      (void)Call("a", 0, {Of(second, Measurement())});
    }
  }
  EXPECT_EQ(log_->Stats()->records, 0);
}

TEST_F(TunerChecksTest, ASessionThatOpensAfterTrialsWereQueuedIsWoken) {
  Start(false);
  (void)Call("a", 4);
  const std::string job = Submit(8);
  while (tuner_->WorkDemand().work.empty() || tuner_->WorkDemand().work[0].queued == 0) {
    (void)tuner_->Progress(job);
  }
  int wakes = 0;
  proto::OpenSessionRequest opening;
  opening.set_worker("a");
  opening.set_incarnation("1");
  const int64_t id = tuner_->OpenSession(
      opening, [&] { ++wakes; }, [] {});
  EXPECT_EQ(wakes, 1);
  tuner_->Disconnected(id);
}

TEST_F(TunerChecksTest, DrainedWorkersAreToldAndWokenWorkersCalled) {
  Start(false);
  int wakes = 0;
  int disconnected = 0;
  proto::OpenSessionRequest opening;
  opening.set_worker("a");
  opening.set_incarnation("1");
  const int64_t id = tuner_->OpenSession(
      opening, [&] { ++wakes; }, [&] { ++disconnected; });
  EXPECT_GT(Call("a", 4).next_poll_ms(), 1000) << "it will be woken";
  const std::string job = Submit(8);
  while (tuner_->WorkDemand().work.empty() || tuner_->WorkDemand().work[0].queued == 0) {
    (void)tuner_->Progress(job);
  }
  EXPECT_TRUE(tuner_->SetAdminHold("a", AdminHoldKind::kDrain, "to be cleaned").ok());
  const auto reply = Call("a", 4);
  EXPECT_TRUE(reply.drain());
  EXPECT_EQ(reply.leases_size(), 0);
  EXPECT_EQ(Line("a").state(), proto::DRAINING);
  EXPECT_EQ(Line("a").reason(), "to be cleaned");
  tuner_->DisconnectSessions();
  EXPECT_EQ(disconnected, 1);
  tuner_->Disconnected(id);
  EXPECT_GE(wakes, 2);
}

}  // namespace
}  // namespace mlc::server
