#include "server/workers/plausibility.h"

#include <gmock/gmock.h>

#include <limits>

namespace mlc::server {
namespace {

using ::testing::HasSubstr;

Measurement Time(double ns) {
  Measurement m;
  m.outcome = Outcome::kOk;
  m.median_ns = m.p10_ns = m.p90_ns = ns;
  m.runs = 9;
  return m;
}

TEST(PlausibilityTest, BelowTheFloorIsDoubted) {
  EXPECT_THAT(Doubt(Time(99), {.floor_ns = 100}), HasSubstr("below what the device can do"));
  EXPECT_EQ(Doubt(Time(100), {.floor_ns = 100}), "");
}

TEST(PlausibilityTest, FarAheadOfAllThatIsKnownIsDoubted) {
  Known known{.floor_ns = 1, .best_ns = 3000, .results = 20, .predicted_ns = 0};
  EXPECT_THAT(Doubt(Time(999), known), HasSubstr("far ahead of the best of 20 results"));
  EXPECT_EQ(Doubt(Time(1000), known), "");
  known.results = 0;
  EXPECT_THAT(Doubt(Time(999), known), HasSubstr("far ahead")) << "of earlier jobs: a fresh one";
  known.best_ns = 0;
  EXPECT_EQ(Doubt(Time(999), known), "") << "nothing is known";
  known.best_ns = 3000;
  known.results = 20;
  known.predicted_ns = 1900;
  EXPECT_EQ(Doubt(Time(999), known), "") << "the model expected it";
}

TEST(PlausibilityTest, AConfirmationContradictsWhatLuckDoesNotExplain) {
  EXPECT_FALSE(Contradicts(1000, 3000));
  EXPECT_TRUE(Contradicts(1000, 3001));
  EXPECT_FALSE(Contradicts(0, 3001)) << "nothing was claimed";
}

TEST(PlausibilityTest, FailuresAreNeverDoubted) {
  Measurement crash;
  crash.outcome = Outcome::kRunError;
  EXPECT_EQ(Doubt(crash, {.floor_ns = 100, .best_ns = 1e9, .results = 50}), "");
}

TEST(PlausibilityTest, TheSecondMeasurementDecides) {
  EXPECT_EQ(Compare(Time(100), Time(199), 10), Confirmation::kAgrees);
  EXPECT_EQ(Compare(Time(100), Time(50), 10), Confirmation::kAgrees);
  EXPECT_EQ(Compare(Time(100), Time(201), 10), Confirmation::kDiffers);
  EXPECT_EQ(Compare(Time(5), Time(20), 10), Confirmation::kDiffers);
  EXPECT_EQ(Compare(Time(5), Time(6), 10), Confirmation::kImpossible);
  Measurement wrong;
  wrong.outcome = Outcome::kWrongResult;
  EXPECT_EQ(Compare(Time(100), wrong, 10), Confirmation::kDiffers);
  EXPECT_EQ(Slower(Time(100), Time(150), "confirmed").median_ns, 150);
  EXPECT_EQ(Slower(Time(200), Time(150), "confirmed").median_ns, 200);
}

TEST(PlausibilityTest, ACanaryHasToBeRightAndNearTheOthers) {
  EXPECT_TRUE(EvaluateCanary(Time(100), 0, 1.5).ok());
  EXPECT_TRUE(EvaluateCanary(Time(149), 100, 1.5).ok());
  EXPECT_THAT(EvaluateCanary(Time(151), 100, 1.5).message(), HasSubstr("other workers"));
  EXPECT_FALSE(EvaluateCanary(Time(60), 100, 1.5).ok()) << "too fast is as wrong";
  EXPECT_FALSE(EvaluateCanary(Time(std::numeric_limits<double>::quiet_NaN()), 0, 3).ok());
  EXPECT_FALSE(EvaluateCanary(Time(-1), 0, 3).ok());
  Measurement failed;
  failed.outcome = Outcome::kInfra;
  failed.detail = "no compiler";
  EXPECT_THAT(EvaluateCanary(failed, 100, 3).message(), HasSubstr("infra: no compiler"));
}

}  // namespace
}  // namespace mlc::server
