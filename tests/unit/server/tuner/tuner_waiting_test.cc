// Jobs that do not go on for want of a worker say what they lack, wherever one asks after them.
#include <gmock/gmock.h>

#include <thread>

#include "tests/unit/server/tuner/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TunerWaitingTest : public TunerTest {
 protected:
  // What the job says, once it says these words.
  std::string Await(const std::string& job, const std::string& words) {
    for (;;) {
      const std::string detail = tuner_->Progress(job)->detail();
      if (detail.find(words) != std::string::npos) return detail;
      std::this_thread::yield();
    }
  }
};

TEST_F(TunerWaitingTest, ForAWorkerOfItsClass) {
  const std::string job = Submit(8);
  EXPECT_THAT(Await(job, "waits for a worker of class"), HasSubstr("; connected: none"));
}

TEST_F(TunerWaitingTest, ForAWorkerThatBuildsItsKernels) {
  const std::string job = Submit(8);
  proto::SynchronizeRequest other = Hello();
  other.set_worker("other");
  other.mutable_capabilities()->add_kernels("another/1");
  EXPECT_EQ(Call(other)->leases_size(), 0);
  EXPECT_THAT(Await(job, " that builds fake/"), HasSubstr("; connected: 1 of target v1"));
  EXPECT_THAT(tuner_->List({})->jobs(0).detail(), HasSubstr("that builds fake/"));
  Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  EXPECT_EQ(tuner_->Progress(job)->detail(), "");
}

TEST_F(TunerWaitingTest, ForAWorkerThatStays) {
  const std::string job = Submit(100);
  Work(job, 5);
  proto::SynchronizeRequest leaves = Hello();
  leaves.set_draining(true);
  leaves.set_want(0);
  ASSERT_TRUE(Call(leaves).ok());
  EXPECT_THAT(Await(job, "waits for a worker"),
              HasSubstr("1 of them untested, quarantined or dra"));
  Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
}

TEST_F(TunerWaitingTest, AndWhetherTheFleetHasSuchWorkers) {
  const std::string job = Submit(8);
  Await(job, "waits for a worker of class");
  const Demand begins = tuner_->WorkDemand();
  ASSERT_EQ(begins.work.size(), 1u);
  EXPECT_EQ(begins.work[0].jobs, 1);
  EXPECT_EQ(begins.work[0].needs.kernel, "");
  tuner_->SetUnservedNeeds({begins.work[0].needs});
  EXPECT_THAT(Await(job, "no pool"), HasSubstr("; no pool of the fleet has such workers"));
  proto::SynchronizeRequest other = Hello();
  other.set_worker("other");
  other.mutable_capabilities()->add_kernels("another/1");
  EXPECT_EQ(Call(other)->leases_size(), 0);
  Await(job, " that builds fake/");
  const Demand waits = tuner_->WorkDemand();
  std::vector<Needs> needs;
  for (const NeededWork& work : waits.work) {
    EXPECT_EQ(work.jobs, 0) << "the job's trials speak for it";
    EXPECT_GT(work.queued, 0);
    EXPECT_THAT(work.needs.kernel, HasSubstr("fake/"));
    needs.push_back(work.needs);
  }
  EXPECT_FALSE(needs.empty());
  ASSERT_EQ(waits.workers.size(), 1u);
  EXPECT_EQ(waits.workers[0].offer.kernels, std::set<std::string>{"another/1"});
  tuner_->SetUnservedNeeds(needs);
  EXPECT_THAT(tuner_->Progress(job)->detail(), HasSubstr("no pool of the fleet"));
  tuner_->SetUnservedNeeds({});
  EXPECT_THAT(tuner_->Progress(job)->detail(), Not(HasSubstr("no pool of the fleet")));
  Work(job);
}

TEST_F(TunerWaitingTest, AndWhatItHadBeforeIsFromTheLog) {
  const std::string job = Submit(8);
  Work(job);
  ASSERT_EQ(tuner_->Progress(job)->state(), proto::DONE);
  Restart();
  ASSERT_EQ(Submit(100), job);
  Await(job, "waits for a worker");
  EXPECT_EQ(tuner_->Progress(job)->trials(), 8);
  EXPECT_EQ(tuner_->Progress(job)->replayed(), 8);
}

TEST_F(TunerWaitingTest, AndThatIsNotItsTime) {
  const auto spent_ms = [&](const std::string& job) {
    clock_.Skip(20);
    EXPECT_TRUE(tuner_->Cancel(job, Caller::Local()).ok());
    return log_->FindJob(*Digest::Parse(job))->value().spent_ms;
  };
  const std::string waits = Submit(100);
  Await(waits, "waits for a worker");
  EXPECT_EQ(spent_ms(waits), 0);
  const std::string works = tuner_->Submit(WithSeed(Request(100), 2), Caller::Local())->job();
  Work(works, 5);
  EXPECT_GE(spent_ms(works), 20);
}

}  // namespace
}  // namespace mlc::server
