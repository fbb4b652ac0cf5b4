#include "costmodel/xgboost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compiler/base/rng.h"

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

double RootError(const XgboostModel& model, const Data& data) {
  std::vector<float> out(data.labels.size());
  EXPECT_TRUE(model.Predict(data.features, 2, out).ok());
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) sum += std::pow(out[i] - data.labels[i], 2);
  return std::sqrt(sum / static_cast<double>(out.size()));
}

TEST(XgboostModelTest, LearnsAStep) {
  for (size_t rows : {400u, 2000u}) {
    const Data data(rows);
    const auto model = XgboostModel::Fit(data.Rows());
    ASSERT_TRUE(model.ok()) << model.status().ToString();
    EXPECT_LT(RootError(*model, data), 0.1);
  }
}

TEST(XgboostModelTest, SavedModelsPredictTheSame) {
  const Data data(300);
  const auto model = XgboostModel::Fit(data.Rows());
  const auto bytes = model->ToBytes();
  ASSERT_TRUE(bytes.ok());
  const auto again = XgboostModel::FromBytes(*bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  std::vector<float> a(300), b(300);
  ASSERT_TRUE(model->Predict(data.features, 2, a).ok());
  ASSERT_TRUE(again->Predict(data.features, 2, b).ok());
  EXPECT_EQ(a, b);
}

TEST(XgboostModelTest, TheSameRowsGiveTheSameModel) {
  const Data data(300);
  EXPECT_EQ(*XgboostModel::Fit(data.Rows())->ToBytes(), *XgboostModel::Fit(data.Rows())->ToBytes());
}

TEST(XgboostModelTest, WeightlessRowsTeachNothing) {
  const std::vector<float> features = {0, 1}, labels = {1, 9}, weights = {1, 0};
  const auto model =
      XgboostModel::Fit({1, features, labels, weights}, {.trees = 200, .min_child_weight = 0});
  float out[1];
  ASSERT_TRUE(model->Predict(std::vector<float>{1}, 1, out).ok());
  EXPECT_NEAR(out[0], 1, 0.6);
}

TEST(XgboostModelTest, RefusesWhatDoesNotFit) {
  const std::vector<float> three(3), two(2);
  EXPECT_EQ(XgboostModel::Fit({2, three, two, {}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(XgboostModel::Fit({1, {}, {}, {}}).status().code(), StatusCode::kInvalidArgument);
  const auto garbage = XgboostModel::FromBytes("no model at all, surely");
  EXPECT_EQ(garbage.status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace mlc::costmodel
