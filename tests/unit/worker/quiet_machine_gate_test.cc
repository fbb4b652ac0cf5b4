#include "worker/measure/quiet_machine_gate.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace mlc::worker {
namespace {

constexpr int64_t kForever = INT64_MAX;

// A machine at half speed until `disturbed_until_`.
class QuietMachineGateTest : public ::testing::Test {
 protected:
  QuietMachineGate Gate() {
    return QuietMachineGate({[this] { return now_ < disturbed_until_ ? 0.5 : 0.98; },
                             [this](int64_t ns) { now_ += ns; }},
                            budget_);
  }

  RetryBudget budget_;
  int64_t now_ = 0;
  int64_t disturbed_until_ = 0;
};

TEST_F(QuietMachineGateTest, ItDoesNotWaitOnAQuietMachine) {
  EXPECT_EQ(Gate().WaitUntilQuiet(), 0.98);
  EXPECT_EQ(now_, 0);
  EXPECT_EQ(budget_.lost_ns, 0);
}

TEST_F(QuietMachineGateTest, ItWaitsForTheEndOfADisturbance) {
  disturbed_until_ = 12'000'000;
  EXPECT_EQ(Gate().WaitUntilQuiet(), 0.98);
  EXPECT_EQ(budget_.lost_ns, 15'000'000);
  EXPECT_EQ(now_, budget_.lost_ns);
}

TEST_F(QuietMachineGateTest, OneWaitEnds) {
  disturbed_until_ = kForever;
  budget_.timed_ns = kForever / 4;
  EXPECT_EQ(Gate().WaitUntilQuiet(), 0.5);
  EXPECT_LT(now_, 1'000'000'000);
}

TEST_F(QuietMachineGateTest, OneTimingSpendsASmallPartOfTheBudget) {
  disturbed_until_ = kForever;
  budget_.timed_ns = kForever / 4;
  QuietMachineGate gate = Gate();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(gate.WaitUntilQuiet(), 0.5);
  EXPECT_LE(budget_.lost_ns, 1'500'000'000);
  EXPECT_FALSE(gate.CanAfford(500'000'000));
  EXPECT_TRUE(Gate().CanAfford(500'000'000)) << "the next one";
}

TEST_F(QuietMachineGateTest, TheBudgetBoundsLossesOverManyTimings) {
  disturbed_until_ = kForever;
  for (int i = 0; i < 1000; ++i) {
    QuietMachineGate gate = Gate();
    EXPECT_EQ(gate.WaitUntilQuiet(), 0.5);
    gate.AddTimed(20'000'000);
  }
  EXPECT_LE(budget_.lost_ns, 3 * budget_.timed_ns + 10'000'000'000);
  EXPECT_EQ(now_, budget_.lost_ns);
  EXPECT_FALSE(Gate().CanAfford(3 * budget_.timed_ns + 10'000'000'000));
}

}  // namespace
}  // namespace mlc::worker
