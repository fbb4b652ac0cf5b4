// What becomes of results, good and bad.
#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "base/wire/protocol.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/sqlite_log.h"
#include "tests/temporary_folder.h"
#include "tests/unit/db/faulty_disk.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

TEST_F(TunerTest, InfrastructureFailuresAreRetriedAndNeverStored) {
  const std::string job = Submit(1);
  proto::SynchronizeRequest request = Hello();
  int attempts = 0;
  while (tuner_->Progress(job)->state() == proto::RUNNING) {
    auto reply = Call(request);
    ASSERT_TRUE(reply.ok());
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      EXPECT_EQ(lease.attempt(), ++attempts);
      // No outcome at all must not count as success.
      request.add_finished()->set_task_uid(lease.task_uid());
    }
  }
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(log_->Stats()->records, 0);
  EXPECT_EQ(tuner_->Progress(job)->outcomes(7), 1);
  EXPECT_THAT(*story_, HasSubstr("learn 0:infra"));
}

TEST_F(TunerTest, AJobSaysWhyTrialsCouldNotBeMade) {
  const std::string job = Submit(1);
  Measurement without_memory;
  without_memory.outcome = Outcome::kInfra;
  without_memory.detail = "the CUDA compiler ran out of memory for sm_90a";
  proto::SynchronizeRequest request = Hello();
  while (tuner_->Progress(job)->state() == proto::RUNNING) {
    auto reply = Call(request);
    ASSERT_TRUE(reply.ok());
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = ToWire(without_memory);
    }
  }
  EXPECT_EQ(log_->Stats()->records, 0);
  EXPECT_THAT(tuner_->Progress(job)->detail(),
              HasSubstr("1 trial could not be run by any worker, last: the CUDA compiler ran out "
                        "of memory for sm_90a"));
}

TEST_F(TunerTest, ImpossibleResultsAreRetriedNotStored) {
  const std::string job = Submit(1);
  proto::SynchronizeRequest request = Hello();
  while (tuner_->Progress(job)->state() == proto::RUNNING) {
    auto reply = Call(request);
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      Measurement lie = FakeMeasurement(0);
      lie.median_ns = lie.p10_ns = lie.p90_ns = 1e-6;
      *result.mutable_measurement() = ToWire(lie);
    }
  }
  EXPECT_EQ(log_->Stats()->records, 0);
}

TEST_F(TunerTest, DuplicatesAreAcknowledgedAndStoredOnce) {
  const std::string job = Submit(3);
  proto::SynchronizeRequest request = Hello();
  while (request.finished_size() == 0) {
    const auto reply = Call(request);
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = ToWire(FakeMeasurement(0));
    }
  }
  EXPECT_EQ(Call(request)->acknowledged_size(), 3);
  EXPECT_EQ(Call(request)->acknowledged_size(), 3);
  EXPECT_EQ(log_->Stats()->records, 3);
}

TEST(CheckProtocolTest, NeighboursAreRefusedWithTheSideToUpgrade) {
  EXPECT_TRUE(CheckProtocol("worker", kWireProtocol).ok());
  EXPECT_TRUE(CheckProtocol("client", kWireProtocol).ok());
  const auto refused = [](const std::string& peer, int protocol, const std::string& upgrade) {
    EXPECT_EQ(CheckProtocol(peer, protocol),
              FailedPrecondition("the " + peer + " speaks protocol " + std::to_string(protocol) +
                                 ", this server " + std::to_string(kWireProtocol) + ": upgrade " +
                                 upgrade));
  };
  refused("worker", kWireProtocol + 1, "mlc-server");
  refused("client", kWireProtocol + 1, "mlc-server");
  refused("worker", kWireProtocol - 1, "mlc-worker");
  refused("client", kWireProtocol - 1, "mlc-tune");
}

TEST_F(TunerTest, WhatAWorkerSaysOfDevicesIsTakenOrPassedOver) {
  proto::TrialResult result;
  EXPECT_EQ(DeviceSeconds(result), std::nullopt) << "not told";
  for (const double nonsense : {-1.0, std::nan("")}) {
    result.set_device_s(nonsense);
    EXPECT_EQ(DeviceSeconds(result), std::nullopt);
  }
  result.set_device_s(0);
  EXPECT_EQ(DeviceSeconds(result), 0.0);
  const std::string job = Submit(30);
  int64_t acknowledged = 0;
  proto::SynchronizeRequest request = Hello();
  for (int64_t call = 0; tuner_->Progress(job)->state() == proto::RUNNING; ++call) {
    const int32_t devices[] = {0, 1, 8, -5, INT32_MAX};
    request.mutable_capabilities()->set_devices(devices[call % 5]);
    const auto reply = Call(request);
    ASSERT_TRUE(reply.ok()) << reply.status().ToString();
    acknowledged += reply->acknowledged_size();
    request.clear_finished();
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& one = *request.add_finished();
      one.set_task_uid(lease.task_uid());
      *one.mutable_measurement() = ToWire(FakeMeasurement(0));
      one.set_device_s(std::numeric_limits<double>::infinity());
    }
  }
  EXPECT_EQ(acknowledged, 30);
}

TEST_F(TunerTest, AWorkerThatDiesLosesItsLease) {
  lease_ms_ = 2000;
  Restart();
  const std::string job = Submit(6);
  proto::SynchronizeRequest dead = Hello();
  dead.set_worker("dead");
  while (Call(dead)->leases_size() == 0) dead.clear_holding();
  EXPECT_EQ(Work(job), 6);
}

TEST_F(TunerTest, ADrainingServerGivesNoLeasesAndKeepsTheJob) {
  const std::string job = Submit(100);
  Work(job, 5);
  tuner_->Drain(0);
  auto reply = Call(Hello());
  EXPECT_TRUE(reply->drain());
  EXPECT_EQ(reply->leases_size(), 0);
  EXPECT_EQ(tuner_->Submit(Request(5), Caller::Local()).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(log_->Jobs()->front().state, db::JobState::kRunning);
}

TEST_F(TunerTest, RefusesBadRequestsInWords) {
  auto refused = [this](auto&& change) {
    proto::SubmitJobRequest request = Request(5);
    change(request);
    const Status status = tuner_->Submit(request, Caller::Local()).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(refused([](auto& r) { r.mutable_options()->set_trials(0); }), HasSubstr("trials"));
  EXPECT_THAT(refused([](auto& r) { r.clear_tasks(); }), HasSubstr("no tasks"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_tasks(1)->set_workload("x"); }), HasSubstr("task 1"));
  EXPECT_THAT(refused([](auto& r) { *r.mutable_tasks(1) = r.tasks(0); }),
              HasSubstr("same workload"));
  EXPECT_THAT(refused([](auto& r) { r.mutable_tasks(0)->set_occurrences(0); }),
              HasSubstr("occurrences"));
  EXPECT_FALSE(refused([](auto& r) { r.set_target("toaster"); }).empty());
  proto::SynchronizeRequest request = Hello();
  request.set_protocol(2);
  EXPECT_EQ(Call(request).status().code(), StatusCode::kFailedPrecondition);
  request = Hello();
  request.set_target("toaster");
  EXPECT_THAT(Call(request).status().message(), HasSubstr("worker's target"));
  request = Hello();
  request.clear_incarnation();
  EXPECT_EQ(Call(request).status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Call(request).status().message(),
              HasSubstr("w0 sends no incarnation: it has to be new"));
}

TEST_F(TunerTest, AResultWhoseIdIsNoneIsRefused) {
  proto::SynchronizeRequest request = Hello();
  request.add_finished()->set_task_uid("short");
  const auto reply = Call(request);
  ASSERT_TRUE(reply.ok()) << reply.status().ToString();
  ASSERT_EQ(reply->refused_size(), 1);
  EXPECT_EQ(reply->refused(0).task_uid(), "short") << "the worker knows it by that";
  EXPECT_EQ(reply->refused(0).reason(), "a task_uid has 16 bytes");
}

// A result that breaks a rule of the log is the worker's fault: others do not hear of it.
TEST_F(TunerTest, AResultThatTheLogCannotHoldIsNoTroubleOfTheLog) {
  const tests::TemporaryFolder folder;
  tuner_.reset();
  log_ = *db::OpenSqliteLog(folder.path("rules.db"));
  Restart();
  uint64_t seed = 0;
  Measurement negative;
  negative.outcome = Outcome::kRunError;
  negative.runs = -1;
  Measurement late = FakeMeasurement(0);
  late.p90_ns = 1e15;
  Measurement cold = FakeMeasurement(0);
  cold.cold_ns = 1e15;
  for (const Measurement& bad : {negative, late, cold}) {
    const std::string job = tuner_->Submit(WithSeed(Request(1), ++seed), Caller::Local())->job();
    EXPECT_EQ(SendUntilTheEnd(job, ToWire(bad)), 3) << "each attempt counts, there are three";
    EXPECT_TRUE(tuner_->LogStatus().ok());
  }
  EXPECT_EQ(log_->Stats()->records, 0);
  EXPECT_EQ(tuner_->ListWorkers().workers(0).refused(), 9);
  tuner_.reset();
  log_.reset();
}

// Whatever the log has against a record: here a rule that only this file has.
TEST_F(TunerTest, ARecordThatTheLogRefusesIsHeldAgainstItsWorkerAndEndsAfterThreeAttempts) {
  const tests::TemporaryFolder folder;
  tuner_.reset();
  log_ = *db::OpenSqliteLog(folder.path("trigger.db"));
  {
    auto file = db::Database::Open(folder.path("trigger.db"), db::OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Execute("CREATE TRIGGER one BEFORE INSERT ON record WHEN new.runs = 77 BEGIN"
                              " SELECT RAISE(ABORT, 'seventy-seven'); END")
                    .ok());
  }
  Restart();
  Measurement bad = FakeMeasurement(0);
  bad.runs = 77;
  const std::string watched = tuner_->Submit(WithSeed(Request(1), 1), Caller::Local())->job();
  const std::string job = tuner_->Submit(WithSeed(Request(1), 2), Caller::Local())->job();
  EXPECT_GT(SendUntilTheEnd(job, ToWire(bad)), 0);
  EXPECT_TRUE(tuner_->Progress(watched).ok());
  EXPECT_TRUE(tuner_->LogStatus().ok());
  EXPECT_GE(tuner_->ListWorkers().workers(0).refused(), 3);
  EXPECT_EQ(log_->Stats()->records, 0);
  EXPECT_TRUE(tuner_->Submit(WithSeed(Request(1), 3), Caller::Local()).ok());
  tuner_.reset();
  log_.reset();
}

TEST_F(TunerTest, AFullDiskIsToldAndTheJobGoesOnWhenThereIsSpace) {
  const tests::TemporaryFolder folder;
  db::FaultyDisk disk;
  tuner_.reset();
  log_ = *db::OpenSqliteLog(folder.path("full.db"));
  Restart();
  const std::string job = Submit(20);
  const int64_t before = Work(job, 5);
  proto::SynchronizeRequest request = Hello();
  while (request.finished_size() == 0) {
    const auto reply = Call(request);
    for (const proto::Lease& lease : reply->leases()) {
      proto::TrialResult& result = *request.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = ToWire(FakeMeasurement(0));
    }
  }
  db::FaultyDisk::Arm(db::Fault::kFull, 1, /*for_good=*/true);
  EXPECT_EQ(Call(request).status().code(), StatusCode::kResourceExhausted);
  const Status told = tuner_->Progress(job).status();
  EXPECT_EQ(told.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(told.message(), HasSubstr("results cannot be kept"));
  EXPECT_THAT(told.message(), HasSubstr("until there is free space"));
  db::FaultyDisk::Repair();
  const auto kept = Call(request);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  EXPECT_EQ(kept->acknowledged_size(), request.finished_size());
  EXPECT_TRUE(tuner_->Progress(job).ok());
  const int64_t after = Work(job);
  EXPECT_EQ(before + kept->acknowledged_size() + after, 20);
  EXPECT_EQ(log_->Stats()->records, 20);
  tuner_.reset();
  log_.reset();
}

}  // namespace
}  // namespace mlc::server
