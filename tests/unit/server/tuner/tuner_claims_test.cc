// A worker that claims what is not true, just believable enough: what becomes of its lead.
#include <gmock/gmock.h>

#include <thread>

#include "base/wire/protocol.h"
#include "db/confirmed_best.h"
#include "tests/unit/server/tuner/fake_strategy.h"
#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

constexpr double kHonest = 5'000;
constexpr double kForged = 1'000;  // far above any floor
constexpr int kConfigs = 4;

// Four configs; once they are measured, all of them again side by side, as a search confirms its
// leaders.
class ConfirmingStrategy : public Strategy {
 public:
  std::vector<Proposal> Propose(int /*count*/) override {
    std::vector<Proposal> batch;
    if (group_ != learned_) return batch;
    for (int x = 0; x < kConfigs && group_ < 2; ++x) {
      Proposal& proposal = batch.emplace_back();
      proposal.config.family = "fake";
      proposal.config.knobs = {{"x", x}};
      proposal.group = group_;
      proposal.repeat = group_;
      proposal.arm = group_ == 0 ? "random" : db::kConfirmationArm;
    }
    ++group_;
    return batch;
  }
  void Learn(std::span<const Observation> /*batch*/) override { ++learned_; }
  bool Done() const override { return group_ >= 2; }
  std::vector<TaskProgress> Progress() const override { return std::vector<TaskProgress>(1); }
  std::vector<SavedModel> Models() const override { return {}; }

 private:
  int group_ = 0;
  int learned_ = 0;
};

class TunerClaimsTest : public TunerTest {
 protected:
  void SetUp() override {
    strategy_ = [](const SearchInput&) { return std::make_unique<ConfirmingStrategy>(); };
    Restart();
    proto::SubmitJobRequest request = Request(2 * kConfigs);
    request.mutable_tasks()->RemoveLast();
    job_ = tuner_->Submit(request, Caller::Local())->job();
  }
  static proto::Measurement Time(double ns) {
    Measurement m = FakeMeasurement(0);
    m.median_ns = m.p10_ns = m.p90_ns = ns;
    return ToWire(m);
  }
  // What the worker is given now, of at most `want`.
  std::vector<proto::Lease> Ask(const std::string& worker, int want) {
    proto::SynchronizeRequest hello = Hello();
    hello.set_worker(worker);
    hello.set_want(want);
    for (const std::string& uid : holding_[worker]) hello.add_holding(uid);
    const auto reply = Call(hello);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    std::vector<proto::Lease> leases(reply->leases().begin(), reply->leases().end());
    for (const proto::Lease& lease : leases) holding_[worker].push_back(lease.task_uid());
    return leases;
  }
  std::vector<proto::Lease> AskUntilGiven(const std::string& worker, int want) {
    while (true) {
      std::vector<proto::Lease> leases = Ask(worker, want);
      if (!leases.empty()) return leases;
      std::this_thread::yield();
    }
  }
  void Send(const std::string& worker, const std::vector<proto::Lease>& leases, double ns) {
    proto::SynchronizeRequest hello = Hello();
    hello.set_worker(worker);
    hello.set_want(0);
    holding_[worker].clear();
    for (const proto::Lease& lease : leases) {
      proto::TrialResult& result = *hello.add_finished();
      result.set_task_uid(lease.task_uid());
      *result.mutable_measurement() = Time(ns);
    }
    const auto reply = Call(hello);
    EXPECT_TRUE(reply.ok());
    EXPECT_EQ(reply->acknowledged_size(), std::ssize(leases));
  }
  double BestNs() const {
    const auto best = db::BestConfigs(*log_, MakeWorkload(8).digest(),
                                      target::Target::Parse(TargetText())->ClassText(), 1);
    return best.ok() && !best->empty() ? best->front().measurement.median_ns : 0;
  }
  int64_t Refused(const std::string& worker) const {
    const proto::ListWorkersReply workers = tuner_->ListWorkers();
    for (const proto::WorkerLine& line : workers.workers()) {
      if (line.worker() == worker) return line.refused();
    }
    return -1;
  }
  bool Runs() const { return tuner_->Progress(job_)->state() == proto::RUNNING; }

  std::string job_;
  std::map<std::string, std::vector<std::string>> holding_;
};

TEST_F(TunerClaimsTest, AForgedLeadIsConfirmedByAnotherWorkerAndLost) {
  (void)Ask("honest", 0);
  const auto forged = AskUntilGiven("liar", 1);
  Send("honest", AskUntilGiven("honest", kConfigs - 1), kHonest);
  Send("liar", forged, kForged);
  EXPECT_EQ(BestNs(), kForged) << "until it is confirmed";
  // The confirmations are there, and not for the one who claims the lead.
  while (tuner_->WorkDemand().work.empty() || tuner_->WorkDemand().work[0].queued == 0) {
    EXPECT_TRUE(Ask("liar", kConfigs).empty());
    ASSERT_TRUE(Runs());
    std::this_thread::yield();
  }
  EXPECT_TRUE(Ask("liar", kConfigs).empty());
  const auto confirmations = AskUntilGiven("honest", kConfigs);
  ASSERT_EQ(confirmations.size(), size_t{kConfigs}) << "side by side, with one worker";
  Send("honest", confirmations, kHonest);
  while (Runs()) std::this_thread::yield();
  EXPECT_EQ(BestNs(), kHonest);
  EXPECT_EQ(Refused("liar"), 1) << "held against it";
  EXPECT_EQ(Refused("honest"), 0);
}

TEST_F(TunerClaimsTest, AnHonestLeaderIsNotHeldAgainstAnybody) {
  (void)Ask("second", 0);
  Send("first", AskUntilGiven("first", kConfigs), kHonest);
  Send("second", AskUntilGiven("second", kConfigs), 1.2 * kHonest);
  while (Runs()) std::this_thread::yield();
  EXPECT_EQ(Refused("first"), 0);
  EXPECT_EQ(Refused("second"), 0);
}

TEST_F(TunerClaimsTest, AloneAWorkerConfirmsItself) {
  for (int batch = 0; batch < 2; ++batch) Send("only", AskUntilGiven("only", kConfigs), kHonest);
  while (Runs()) std::this_thread::yield();
  EXPECT_EQ(log_->Stats()->records, 2 * kConfigs);
}

}  // namespace
}  // namespace mlc::server
