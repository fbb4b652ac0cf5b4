#include "worker/measure/calm_gate.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace mlc::worker {
namespace {

constexpr int64_t kForever = INT64_MAX;

// A machine at half its speed until `disturbed_until_`.
class CalmGateTest : public ::testing::Test {
 protected:
  CalmGate Gate() {
    return CalmGate({[this] { return now_ < disturbed_until_ ? 0.5 : 0.98; },
                     [this](int64_t ns) { now_ += ns; }},
                    patience_);
  }

  Patience patience_;
  int64_t now_ = 0;
  int64_t disturbed_until_ = 0;
};

TEST_F(CalmGateTest, ACalmMachineIsNotWaitedFor) {
  EXPECT_EQ(Gate().Await(), 0.98);
  EXPECT_EQ(now_, 0);
  EXPECT_EQ(patience_.lost_ns, 0);
}

TEST_F(CalmGateTest, ADisturbanceIsWaitedFor) {
  disturbed_until_ = 12'000'000;
  EXPECT_EQ(Gate().Await(), 0.98);
  EXPECT_EQ(patience_.lost_ns, 15'000'000);
  EXPECT_EQ(now_, patience_.lost_ns);
}

TEST_F(CalmGateTest, OneWaitEnds) {
  disturbed_until_ = kForever;
  patience_.timed_ns = kForever / 4;
  EXPECT_EQ(Gate().Await(), 0.5);
  EXPECT_LT(now_, 1'000'000'000);
}

TEST_F(CalmGateTest, OneTimingLosesLittleOfWhatAllMayLose) {
  disturbed_until_ = kForever;
  patience_.timed_ns = kForever / 4;
  CalmGate gate = Gate();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(gate.Await(), 0.5);
  EXPECT_LE(patience_.lost_ns, 1'500'000'000);
  EXPECT_FALSE(gate.MayLose(500'000'000));
  EXPECT_TRUE(Gate().MayLose(500'000'000)) << "the next one";
}

TEST_F(CalmGateTest, LossesAreBoundedOverManyTimings) {
  disturbed_until_ = kForever;
  for (int i = 0; i < 1000; ++i) {
    CalmGate gate = Gate();
    EXPECT_EQ(gate.Await(), 0.5);
    gate.Timed(20'000'000);
  }
  EXPECT_LE(patience_.lost_ns, 3 * patience_.timed_ns + 10'000'000'000);
  EXPECT_EQ(now_, patience_.lost_ns);
  EXPECT_FALSE(Gate().MayLose(3 * patience_.timed_ns + 10'000'000'000));
}

}  // namespace
}  // namespace mlc::worker
