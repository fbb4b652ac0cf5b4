#include "costmodel/forest.h"

#include <gtest/gtest.h>
#include <xgboost/c_api.h>

#include <limits>
#include <vector>

#include "base/rng.h"

namespace mlc::costmodel {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Trees of the library over random rows, grown as far as `depth`.
class Grown {
 public:
  explicit Grown(const char* depth) {
    Rng rng(7);
    for (size_t i = 0; i < kRows; ++i) {
      const double x = rng.Uniform(), y = rng.Uniform(), z = rng.Uniform();
      features.insert(features.end(),
                      {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)});
      labels.push_back(static_cast<float>((x < 0.3 ? y : 3 * z * z) + 0.1 * rng.Uniform()));
    }
    EXPECT_EQ(XGDMatrixCreateFromMat(features.data(), kRows, 3, kNan, &rows_), 0);
    EXPECT_EQ(XGDMatrixSetFloatInfo(rows_, "label", labels.data(), kRows), 0);
    EXPECT_EQ(XGBoosterCreate(&rows_, 1, &booster_), 0);
    for (const auto& [name, value] :
         std::vector<std::pair<const char*, const char*>>{{"nthread", "1"},
                                                          {"base_score", "0"},
                                                          {"tree_method", "hist"},
                                                          {"max_depth", depth}}) {
      EXPECT_EQ(XGBoosterSetParam(booster_, name, value), 0);
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(XGBoosterUpdateOneIter(booster_, i, rows_), 0);
  }
  ~Grown() {
    XGBoosterFree(booster_);
    XGDMatrixFree(rows_);
  }
  Grown(const Grown&) = delete;
  Grown& operator=(const Grown&) = delete;

  Result<Forest> Parsed() const {
    bst_ulong trees = 0;
    const char** texts = nullptr;
    EXPECT_EQ(XGBoosterDumpModel(booster_, "", 0, &trees, &texts), 0);
    return Forest::Parse(std::span(texts, trees), 3);
  }
  std::vector<float> Answers() const {
    bst_ulong count = 0;
    const float* values = nullptr;
    EXPECT_EQ(XGBoosterPredict(booster_, rows_, 0, 0, 0, &count, &values), 0);
    return {values, values + count};
  }

  // No multiple of what is asked at once.
  static constexpr size_t kRows = 301;
  std::vector<float> features, labels;

 private:
  DMatrixHandle rows_ = nullptr;
  BoosterHandle booster_ = nullptr;
};

TEST(ForestTest, AnswersAsTheLibraryDoesToTheLastBit) {
  for (const char* depth : {"1", "4", "6", "9"}) {
    const Grown grown(depth);
    const auto forest = grown.Parsed();
    ASSERT_TRUE(forest.ok()) << forest.status().ToString();
    std::vector<float> out(Grown::kRows);
    forest->Predict(grown.features, out);
    EXPECT_EQ(out, grown.Answers()) << "depth " << depth;
  }
}

TEST(ForestTest, TreesOfUnequalDepthAddUp) {
  const std::vector<const char*> trees = {
      "0:leaf=1\n",
      "0:[f1<0.5] yes=1,no=2,missing=1\n\t1:leaf=10\n\t2:[f0<-1e-3] yes=3,no=4,missing=3\n"
      "\t\t3:leaf=-20\n\t\t4:leaf=40\n"};
  const auto forest = Forest::Parse(trees, 2);
  ASSERT_TRUE(forest.ok()) << forest.status().ToString();
  std::vector<float> out(4);
  forest->Predict(std::vector<float>{0, 0.4F, -1, 0.5F, 0, 0.5F, kNan, kNan}, out);
  EXPECT_EQ(out, (std::vector<float>{11, -19, 41, 41}));
}

TEST(ForestTest, NothingAskedIsNothingAnswered) {
  const std::vector<const char*> trees = {"0:leaf=1\n"};
  Forest::Parse(trees, 2)->Predict({}, {});
}

TEST(ForestTest, RefusesWhatIsNoTree) {
  const std::vector<const char*> texts = {
      "",
      "booster[0]:",
      "0:leaf=",
      "0:leaf=1\n1:[f",
      "1:leaf=1\n",
      "0:[f2<0.5] yes=1,no=2,missing=1\n1:leaf=1\n2:leaf=2\n",  // no such column
      "0:[f0<0.5] yes=1,no=2,missing=1\n1:leaf=1\n",            // no such node
      "0:[f0<0.5] yes=0,no=0,missing=0\n"};                     // no end
  for (const char* text : texts) {
    const auto forest = Forest::Parse(std::span(&text, 1), 2);
    EXPECT_EQ(forest.status().code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace mlc::costmodel
