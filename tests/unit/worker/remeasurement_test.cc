#include "worker/device/cpu/remeasurement.h"

#include <gtest/gtest.h>

namespace mlc::worker {
namespace {

Measurement Ok(double median_ns, double machine_speed = 1) {
  Measurement m;
  m.outcome = Outcome::kOk;
  m.p10_ns = median_ns - 10;
  m.median_ns = median_ns;
  m.p90_ns = median_ns + 20;
  m.runs = 20;
  m.cold_ns = 2 * median_ns;
  m.max_error = 1e-6;
  m.machine_speed = machine_speed;
  return m;
}

Measurement Failed(Outcome outcome) {
  Measurement m;
  m.outcome = outcome;
  m.detail = "why";
  return m;
}

TEST(Remeasurement, IsForFirstAndLeadingTrials) {
  EXPECT_TRUE(NeedsRemeasurement(Ok(1000), 0));
  // The best so far takes 1,000.
  EXPECT_TRUE(NeedsRemeasurement(Ok(990), 1300));
  EXPECT_FALSE(NeedsRemeasurement(Ok(1100), 1300));
  EXPECT_FALSE(NeedsRemeasurement(Failed(Outcome::kWrongResult), 0));
  EXPECT_FALSE(NeedsRemeasurement(Failed(Outcome::kInfra), 0));
}

TEST(Remeasurement, IsForDisturbedTrialsThatMayLead) {
  EXPECT_TRUE(NeedsRemeasurement(Ok(1200, 0.6), 1300));
  EXPECT_FALSE(NeedsRemeasurement(Ok(1400, 0.6), 1300));
}

TEST(Remeasurement, IsAveragedWithTheFirst) {
  Measurement second = Ok(1200, 0.9);
  second.max_error = 1e-5;
  const Measurement both = CombineMeasurements(Ok(1000), second);
  EXPECT_EQ(both.outcome, Outcome::kOk);
  EXPECT_EQ(both.median_ns, 1100);
  EXPECT_EQ(both.p10_ns, 1090);
  EXPECT_EQ(both.p90_ns, 1120);
  EXPECT_EQ(both.cold_ns, 2200);
  EXPECT_EQ(both.runs, 40);
  EXPECT_EQ(both.max_error, 1e-5);
  EXPECT_EQ(both.machine_speed, 0.9);
}

TEST(Remeasurement, AQuietMeasurementCountsAlone) {
  EXPECT_EQ(CombineMeasurements(Ok(1500, 0.6), Ok(1000)).median_ns, 1000);
  EXPECT_EQ(CombineMeasurements(Ok(1000), Ok(1500, 0.6)).median_ns, 1000);
  EXPECT_EQ(CombineMeasurements(Ok(1400, 0.5), Ok(1200, 0.6)).median_ns, 1300);
}

TEST(Remeasurement, ColdRunsOfOneMeasurementSuffice) {
  Measurement first = Ok(1000);
  first.cold_ns = 0;
  EXPECT_EQ(CombineMeasurements(first, Ok(1000)).cold_ns, 2000);
}

TEST(Remeasurement, AFailureInEitherIsAFailure) {
  EXPECT_EQ(CombineMeasurements(Ok(1000), Failed(Outcome::kWrongResult)).outcome,
            Outcome::kWrongResult);
  EXPECT_EQ(CombineMeasurements(Ok(1000), Failed(Outcome::kRunTimeout)).detail, "why");
}

TEST(Remeasurement, AFailedMachineKeepsTheFirst) {
  EXPECT_EQ(CombineMeasurements(Ok(1000), Failed(Outcome::kInfra)).median_ns, 1000);
}

}  // namespace
}  // namespace mlc::worker
