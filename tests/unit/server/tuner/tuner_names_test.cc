// Workers come under ever new names: what the server keeps of them, and how many it takes.
#include <gmock/gmock.h>

#include <thread>

#include "base/wire/protocol.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHourMs = 3'600'000;

class TunerNamesTest : public TunerTest {
 protected:
  static proto::SynchronizeRequest HelloOf(const std::string& worker) {
    proto::SynchronizeRequest hello = Hello();
    hello.set_worker(worker);
    return hello;
  }
  // So much time passes, and the tuner has looked at the clock: whoever was there is silent.
  void Pass(int64_t ms) {
    clock_.Skip(ms);
    while (tuner_->Count().live_names > 0) std::this_thread::yield();
  }
  proto::WorkerLine Line(const std::string& worker) const {
    const proto::ListWorkersReply workers = tuner_->ListWorkers();
    for (const proto::WorkerLine& line : workers.workers()) {
      if (line.worker() == worker) return line;
    }
    return {};
  }
  // Calls as `worker` until it is given something, and answers that it cannot be made.
  void FailOne(const std::string& worker) {
    proto::SynchronizeRequest hello = HelloOf(worker);
    while (hello.finished_size() == 0) {
      const auto reply = Call(hello);
      ASSERT_TRUE(reply.ok());
      for (const proto::Lease& lease : reply->leases()) {
        hello.add_finished()->set_task_uid(lease.task_uid());
      }
    }
    ASSERT_TRUE(Call(hello).ok());
  }
};

TEST_F(TunerNamesTest, NamesOfYesterdayLeaveNothing) {
  for (int day = 0; day < 3; ++day) {
    for (int n = 0; n < 100; ++n) {
      ASSERT_TRUE(Call(HelloOf("pod-" + std::to_string(100 * day + n))).ok());
    }
    const TunerCounts counts = tuner_->Count();
    EXPECT_EQ(counts.names, 100);
    EXPECT_EQ(counts.workers, 100);
    EXPECT_EQ(counts.health, 100);
    EXPECT_EQ(counts.lease_workers, 100);
    EXPECT_EQ(counts.idle, 100);
    EXPECT_EQ(tuner_->ListWorkers().workers_size(), 100);
    Pass(25 * kHourMs);
  }
  while (tuner_->Count().names > 0) std::this_thread::yield();
  EXPECT_EQ(tuner_->Count().classes, 0) << "nobody has a class of target any more";
}

TEST_F(TunerNamesTest, SilentNamesAreFewAndDoNotSlowTheOthersDown) {
  for (int n = 0; n < 2'500; ++n) {
    ASSERT_TRUE(Call(HelloOf("pod-" + std::to_string(n))).ok());
  }
  EXPECT_GT(Call(Hello())->next_poll_ms(), 4'000) << "so many wait";
  Pass(kHourMs);
  EXPECT_EQ(tuner_->Count().workers, names_.max_silent);
  EXPECT_LE(Call(Hello())->next_poll_ms(), 100);
}

TEST_F(TunerNamesTest, OneWorkerTooManyIsToldSo) {
  names_.max_of_owner = 3;
  Restart();
  for (const char* worker : {"a", "b", "c"}) ASSERT_TRUE(Call(HelloOf(worker)).ok());
  const Status refused = Call(HelloOf("d")).status();
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("worker d exceeds a limit: 3 local workers"));
  EXPECT_TRUE(Call(HelloOf("c")).ok());
  EXPECT_EQ(tuner_->Count().workers, 3);
  EXPECT_EQ(tuner_->Count().health, 3);
  Pass(kHourMs);
  EXPECT_TRUE(Call(HelloOf("d")).ok());
}

TEST_F(TunerNamesTest, AWorkerSaysOnlySoMuchOfItself) {
  const auto refused = [this](auto&& change) {
    proto::SynchronizeRequest hello = HelloOf("w");
    change(hello);
    const Status status = Call(hello).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(refused([](auto& h) {
                for (int n = 0; n < 257; ++n) h.mutable_capabilities()->add_kernels("k/1");
              }),
              HasSubstr("more than 256 families"));
  EXPECT_THAT(
      refused([](auto& h) { h.mutable_capabilities()->add_kernels(std::string(1 << 20, 'k')); }),
      HasSubstr("over 64 bytes"));
  EXPECT_THAT(
      refused([](auto& h) { h.mutable_capabilities()->set_driver(std::string(1 << 20, 'd')); }),
      HasSubstr("too long a compiler version"));
  EXPECT_THAT(refused([](auto& h) { h.set_build(std::string(1 << 20, 'b')); }), HasSubstr("build"));
  EXPECT_THAT(refused([](auto& h) { h.set_incarnation(std::string(1 << 20, 'b')); }),
              HasSubstr("incarnation"));
  EXPECT_THAT(refused([](auto& h) { h.set_target(std::string(1 << 20, 't')); }),
              HasSubstr("target of over"));
  EXPECT_THAT(refused([](auto& h) { h.set_worker(std::string(300, 'w')); }),
              HasSubstr("longer than 253"));
  EXPECT_THAT(refused([](auto& h) { h.set_worker("w\nworker=x quarantined"); }),
              HasSubstr("printable"));
  EXPECT_EQ(tuner_->Count().workers, 0);
}

TEST_F(TunerNamesTest, ClassesThatNobodyHasAnyMoreAreForgotten) {
  proto::SynchronizeRequest hello = HelloOf("w");
  for (int n = 1; n <= 50; ++n) {
    target::Target target;
    target.fma_gflops = 100;
    target.cpu().threads = n;
    hello.set_target(target.ToText());
    ASSERT_TRUE(Call(hello).ok());
  }
  while (tuner_->Count().classes > 1) std::this_thread::yield();
  EXPECT_EQ(tuner_->Count().idle, 1);
}

TEST_F(TunerNamesTest, AQuarantineIsNotForgottenForACrowdOfNewNames) {
  health_.canaries = true;
  names_.max_silent = 10;
  Restart();
  (void)Submit(100);
  for (int n = 0; n < 2; ++n) FailOne("bad");
  ASSERT_EQ(Line("bad").state(), proto::QUARANTINED);
  Pass(25 * kHourMs);
  for (int n = 0; n < 100; ++n) {
    ASSERT_TRUE(Call(HelloOf("pod-" + std::to_string(n))).ok());
  }
  Pass(kHourMs);
  EXPECT_EQ(tuner_->Count().workers, 11);
  EXPECT_EQ(Line("bad").state(), proto::QUARANTINED);
  ASSERT_TRUE(Call(HelloOf("bad")).ok());
  EXPECT_EQ(Line("bad").state(), proto::QUARANTINED) << "it is still the same";
  // After a week of silence its name is as good as a new one: it gets a canary, and no trial.
  Pass(8 * 24 * kHourMs);
  while (tuner_->Count().names > 0) std::this_thread::yield();
  const auto back = Call(HelloOf("bad"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->leases_size(), 0);
  EXPECT_EQ(Line("bad").state(), proto::UNTESTED);
}

TEST_F(TunerNamesTest, AQuarantineByHandIsForGood) {
  ASSERT_TRUE(Call(HelloOf("bad")).ok());
  ASSERT_TRUE(tuner_->SetAdminHold("bad", AdminHoldKind::kQuarantine, "smells").ok());
  Pass(100 * 24 * kHourMs);
  while (tuner_->Count().names > 0) std::this_thread::yield();
  EXPECT_EQ(Line("bad").state(), proto::QUARANTINED);
  ASSERT_TRUE(Call(HelloOf("bad")).ok());
  EXPECT_EQ(Line("bad").reason(), "smells");
}

}  // namespace
}  // namespace mlc::server
