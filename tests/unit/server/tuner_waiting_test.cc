// Jobs that do not go on for want of a worker say what they lack, wherever one asks after them.
#include <gmock/gmock.h>

#include <thread>

#include "tests/unit/server/tuner_fixture.h"

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

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
              HasSubstr("1 of them untested, quarantined or lea"));
  Work(job);
  EXPECT_EQ(tuner_->Progress(job)->state(), proto::DONE);
}

}  // namespace
}  // namespace mlc::server
