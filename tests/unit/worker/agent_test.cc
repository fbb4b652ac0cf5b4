#include "worker/agent/agent.h"

#include <gtest/gtest.h>

#include <map>

namespace mlc::worker {
namespace {

std::string Uid(uint64_t number) {
  const auto bytes = Digest{0, number}.ToBytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TrialResult ResultOf(uint64_t number) {
  Measurement measurement;
  measurement.outcome = Outcome::kOk;
  measurement.median_ns = 5;
  return {Digest{0, number}, measurement};
}

proto::SynchronizeReply Leases(std::initializer_list<uint64_t> numbers) {
  proto::SynchronizeReply reply;
  reply.set_next_poll_ms(10);
  for (uint64_t number : numbers) {
    proto::Lease& lease = *reply.add_leases();
    lease.set_task_uid(Uid(number));
    lease.set_workload("w");
    lease.set_config("c");
    lease.set_lease_ms(30'000);
  }
  return reply;
}

Agent NewAgent() {
  return Agent({.name = "w", .incarnation = "b", .build = "x", .target = "t", .slots = 4});
}

TEST(Agent, ReportsHeldTrialsAndFreeCapacity) {
  Agent agent = NewAgent();
  EXPECT_LE(agent.NextCallMs(), 0);
  EXPECT_EQ(agent.Request().want(), 4);
  const Agent::Orders orders = agent.OnReply(Leases({1, 2, 3}), 1000);
  ASSERT_EQ(orders.start.size(), 3u);
  EXPECT_EQ(orders.start[0].config, "c");
  const proto::SynchronizeRequest request = agent.Request();
  EXPECT_EQ(request.protocol(), 1);
  EXPECT_EQ(request.holding_size(), 3);
  EXPECT_EQ(request.want(), 0) << "more than half of the slots are full";
  EXPECT_FALSE(request.has_device_use()) << "nothing was told of it";
  proto::DeviceUse use;
  use.set_trial_s(8);
  use.set_busy_s(6);
  agent.set_device_use(use);
  EXPECT_EQ(agent.Request().device_use().busy_s(), 6);
}

TEST(Agent, LeasedTwiceStartsOnce) {
  Agent agent = NewAgent();
  EXPECT_EQ(agent.OnReply(Leases({1, 1}), 0).start.size(), 1u);
  EXPECT_TRUE(agent.OnReply(Leases({1}), 0).start.empty());
}

TEST(Agent, SpoolsResultsUntilAcknowledged) {
  Agent agent = NewAgent();
  (void)agent.OnReply(Leases({1, 2}), 0);
  agent.OnResult(ResultOf(1));
  EXPECT_EQ(agent.NextCallMs(), 0) << "a result is sent at once";
  EXPECT_EQ(agent.Request().finished_size(), 1);
  (void)agent.OnReply(Leases({}), 100);
  EXPECT_EQ(agent.Request().finished_size(), 1) << "not acknowledged";
  EXPECT_EQ(agent.NextCallMs(), 110);
  proto::SynchronizeReply reply = Leases({1});
  EXPECT_TRUE(agent.OnReply(reply, 120).start.empty()) << "measured already";
  reply = Leases({});
  reply.add_acknowledged(Uid(1));
  (void)agent.OnReply(reply, 130);
  EXPECT_EQ(agent.Request().finished_size(), 0);
  EXPECT_EQ(agent.holding(), 1u);
}

TEST(Agent, ForgetsRefusedResultsAndCancelledTrials) {
  Agent agent = NewAgent();
  (void)agent.OnReply(Leases({1, 2}), 0);
  agent.OnResult(ResultOf(1));
  proto::SynchronizeReply reply = Leases({});
  reply.add_refused()->set_task_uid(Uid(1));
  reply.add_cancelled(Uid(2));
  reply.add_cancelled(Uid(99));
  reply.add_acknowledged("short");
  const Agent::Orders orders = agent.OnReply(reply, 0);
  ASSERT_EQ(orders.cancel.size(), 1u);
  EXPECT_EQ(orders.cancel[0], (Digest{0, 2}));
  EXPECT_EQ(agent.unacknowledged(), 0u);
  agent.OnResult(ResultOf(2));
  EXPECT_EQ(agent.unacknowledged(), 0u) << "nobody waits for it";
}

TEST(Agent, BacksOffAndKeepsResults) {
  Agent agent = NewAgent();
  (void)agent.OnReply(Leases({1}), 0);
  agent.OnResult(ResultOf(1));
  int64_t now = 1000;
  for (int64_t longest : {100, 200, 400, 800, 1600, 3200, 5000, 5000}) {
    ASSERT_TRUE(agent.OnFailure(Unavailable("away"), now).ok());
    const int64_t wait = agent.NextCallMs() - now;
    EXPECT_GE(wait, longest / 2);
    EXPECT_LE(wait, longest);
    now = agent.NextCallMs();
  }
  EXPECT_FALSE(agent.connected());
  EXPECT_EQ(agent.Request().finished_size(), 1);
  (void)agent.OnReply(Leases({}), now);
  EXPECT_TRUE(agent.connected());
}

TEST(Agent, WorkersThatLostOneServerDoNotComeBackTogether) {
  std::map<int64_t, int> calls;  // by tenths of a second
  for (uint64_t worker = 0; worker < 256; ++worker) {
    Agent agent({.name = "w", .incarnation = "b", .build = "x", .target = "t", .seed = worker});
    int64_t now = 0;
    while (now < 20'000) {
      ASSERT_TRUE(agent.OnFailure(Unavailable("away"), now).ok());
      now = agent.NextCallMs();
    }
    EXPECT_LE(now, 25'000) << "it is back within one longest wait";
    ++calls[now / 100];
  }
  for (const auto& [time, count] : calls) EXPECT_LE(count, 30);
}

TEST(Agent, SendsWhatAnEarlierProcessLeft) {
  Agent agent = NewAgent();
  agent.Restore(ResultOf(7));
  EXPECT_EQ(agent.Request().finished_size(), 1);
  EXPECT_TRUE(agent.OnReply(Leases({7}), 0).start.empty()) << "measured already";
  proto::SynchronizeReply reply = Leases({});
  reply.add_acknowledged(Uid(7));
  reply.add_acknowledged(Uid(8));
  EXPECT_EQ(agent.OnReply(reply, 0).forget, std::vector<Digest>({{0, 7}}));
}

TEST(Agent, ManyResultsGoInSeveralMessagesAndTheRestIsHeld) {
  Agent agent({.name = "w", .incarnation = "b", .build = "x", .target = "t", .most_unsent = 300});
  for (uint64_t n = 0; n < 300; ++n) {
    TrialResult result = ResultOf(n);
    result.measurement.detail = std::string(16'000, 'x');
    agent.Restore(std::move(result));
  }
  const proto::SynchronizeRequest request = agent.Request();
  EXPECT_LT(request.ByteSizeLong(), size_t{3} << 20);
  EXPECT_GT(request.finished_size(), 100);
  EXPECT_EQ(request.finished_size() + request.holding_size(), 300);
  EXPECT_EQ(request.want(), 0) << "it is to be rid of these first";
}

TEST(Agent, TellsWhatATrialCostUntilItIsAcknowledged) {
  Agent agent = NewAgent();
  (void)agent.OnReply(Leases({1, 2}), 0);
  TrialResult result = ResultOf(1);
  result.device_s = 0.25;
  agent.OnResult(result);
  agent.Restore(ResultOf(7));
  for (int call = 0; call < 2; ++call) {
    const proto::SynchronizeRequest request = agent.Request();
    ASSERT_EQ(request.finished_size(), 2);
    EXPECT_EQ(request.finished(0).device_s(), 0.25);
    EXPECT_FALSE(request.finished(1).has_device_s()) << "of an earlier process";
    (void)agent.OnReply(Leases({}), 0);
  }
}

TEST(Agent, NumbersItsCallsAndTakesAnotherNameWhenItSeemsOld) {
  Agent agent = NewAgent();
  EXPECT_EQ(agent.Request().sequence(), 1u);
  EXPECT_TRUE(agent.OnFailure(Unavailable("away"), 0).ok());
  EXPECT_EQ(agent.Request().sequence(), 2u);
  proto::SynchronizeReply stale = Leases({});
  stale.set_stale(true);
  (void)agent.OnReply(stale, 50);
  EXPECT_EQ(agent.Request().sequence(), 1u);
  EXPECT_NE(agent.Request().incarnation(), "b");
  EXPECT_LE(agent.NextCallMs(), 50) << "at once";
}

TEST(Agent, CallsWhenWoken) {
  Agent agent = NewAgent();
  proto::SynchronizeReply reply = Leases({});
  reply.set_next_poll_ms(5000);
  (void)agent.OnReply(reply, 100);
  EXPECT_EQ(agent.NextCallMs(), 5100);
  agent.Wake();
  EXPECT_LE(agent.NextCallMs(), 100);
}

TEST(Agent, GivesUpOnErrorsThatNoRetryMends) {
  Agent agent = NewAgent();
  EXPECT_TRUE(agent.OnFailure(Unavailable(""), 0).ok());
  EXPECT_TRUE(agent.OnFailure(ResourceExhausted("disk full"), 0).ok());
  EXPECT_EQ(agent.OnFailure(FailedPrecondition("protocol 2"), 0).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(agent.OnFailure(InvalidArgument("target"), 0).message(), "target");
}

TEST(Agent, HoldsStillWhileMeasuringExceptForTheLease) {
  Agent agent = NewAgent();
  (void)agent.OnReply(Leases({1}), 500);
  agent.set_measuring(true);
  EXPECT_EQ(agent.Request().want(), 0);
  agent.OnResult(ResultOf(1));
  EXPECT_EQ(agent.NextCallMs(), 500 + 10'000);
  agent.set_measuring(false);
  EXPECT_EQ(agent.NextCallMs(), 500);
}

TEST(Agent, DrainsAfterTheLastAcknowledgement) {
  Agent agent = NewAgent();
  proto::SynchronizeReply reply = Leases({1});
  reply.set_drain(true);
  (void)agent.OnReply(reply, 0);
  EXPECT_FALSE(agent.done());
  EXPECT_TRUE(agent.Request().draining());
  EXPECT_EQ(agent.Request().want(), 0);
  agent.OnResult(ResultOf(1));
  EXPECT_FALSE(agent.done());
  reply.clear_leases();
  reply.add_acknowledged(Uid(1));
  (void)agent.OnReply(reply, 0);
  EXPECT_TRUE(agent.done());
}

TEST(Agent, SendsNoBytesThatAreNotText) {
  Agent agent = NewAgent();
  (void)agent.OnReply(Leases({1}), 0);
  TrialResult result = ResultOf(1);
  result.measurement.detail = "bad \xff\xfe";
  agent.OnResult(result);
  EXPECT_EQ(agent.Request().finished(0).measurement().detail(), "bad ??");
}

}  // namespace
}  // namespace mlc::worker
