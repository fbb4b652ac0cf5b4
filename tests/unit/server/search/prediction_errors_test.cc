#include "server/search/prediction_errors.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"

namespace mlc::server {
namespace {

TEST(PredictionErrorsTest, IsUnknownWithoutErrors) {
  PredictionErrors errors;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(errors.Factor(), 0);
    errors.Add(100, 200);
  }
  errors.Add(100, 50);
  EXPECT_DOUBLE_EQ(errors.Factor(), 2);
}

// Of errors drawn alike, and of errors that shrink or grow.
TEST(PredictionErrorsTest, TheShareThatItSaysIsWithin) {
  for (const double decay : {1.0, 0.995, 1.0005}) {
    PredictionErrors errors;
    Rng rng(3);
    int within = 0, all = 0;
    double scale = 1;
    for (int i = 0; i < 4000; ++i, scale *= decay) {
      const double error = scale * (rng.Uniform() - 0.5);
      if (errors.Factor() > 0) {
        ++all;
        within += std::abs(error) <= std::log(errors.Factor()) ? 1 : 0;
      }
      errors.Add(100, 100 * std::exp(error));
    }
    EXPECT_NEAR(static_cast<double>(within) / all, PredictionErrors::kCoverage, 0.03);
  }
}

}  // namespace
}  // namespace mlc::server
