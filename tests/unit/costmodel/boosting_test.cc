#include "costmodel/boosting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "base/rng.h"

namespace mlc::costmodel {
namespace {

struct Data {
  explicit Data(size_t rows) {
    Rng rng(3);
    for (size_t i = 0; i < rows; ++i) {
      const double x = rng.Uniform(), y = rng.Uniform();
      features.insert(features.end(), {static_cast<float>(x), static_cast<float>(y)});
      labels.push_back(static_cast<float>(x > 0.5 ? 2 * y : -1));
    }
  }
  TrainingRows Rows() const { return {2, features, labels, {}}; }
  std::vector<float> features;
  std::vector<float> labels;
};

double RootError(const Forest& model, const Data& data) {
  std::vector<float> out(data.labels.size());
  model.Predict(data.features, out);
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) sum += std::pow(out[i] - data.labels[i], 2);
  return std::sqrt(sum / static_cast<double>(out.size()));
}

TEST(BoostingTest, LearnsAStep) {
  for (size_t rows : {400u, 2000u}) {
    const Data data(rows);
    const auto model = FitForest(data.Rows());
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    EXPECT_LT(RootError(*model, data), 0.1);
  }
}

// Whatever was fitted before, and on any thread: a job that goes on elsewhere repeats its
// proposals.
TEST(BoostingTest, TheSameRowsGiveTheSameTrees) {
  const Data data(300), other(40);
  const BoostingOptions options{.trees = 30, .columns = 0.5};
  const auto fitted = [&] { return *FitForest(data.Rows(), options); };
  const Forest first = fitted();
  ASSERT_TRUE(FitForest(other.Rows(), options).ok());
  EXPECT_TRUE(fitted() == first);
  Forest elsewhere;
  std::thread([&] { elsewhere = fitted(); }).join();
  EXPECT_TRUE(elsewhere == first);
}

TEST(BoostingTest, TreesMayBeKeptFromColumns) {
  const Data data(300);
  const auto all = FitForest(data.Rows(), {.trees = 30});
  const auto half = FitForest(data.Rows(), {.trees = 30, .columns = 0.5});
  EXPECT_FALSE(*all == *half);
  EXPECT_LT(RootError(*half, data), 0.3);
}

TEST(BoostingTest, WeightlessRowsTeachNothing) {
  const std::vector<float> features = {0, 1}, labels = {1, 9}, weights = {1, 0};
  const auto model =
      FitForest({1, features, labels, weights}, {.trees = 200, .min_child_weight = 0});
  float out[1];
  model->Predict(std::vector<float>{1}, out);
  EXPECT_NEAR(out[0], 1, 0.6);
}

TEST(BoostingTest, RefusesWhatDoesNotFit) {
  const std::vector<float> three(3), two(2);
  EXPECT_EQ(FitForest({2, three, two, {}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FitForest({1, {}, {}, {}}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mlc::costmodel
