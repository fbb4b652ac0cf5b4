#include "tests/support/costmodel/ranking.h"

#include <gtest/gtest.h>

#include <vector>

namespace mlc::costmodel {
namespace {

const std::vector<double> kTimes = {4, 1, 3, 2};

TEST(RankingTest, APerfectScoreIsPerfect) {
  EXPECT_EQ(TopKRecall(kTimes, kTimes, 2), 1);
  EXPECT_EQ(PairwiseAccuracy(kTimes, kTimes), 1);
  EXPECT_EQ(BestOfN(kTimes, kTimes, 1), 1);
  EXPECT_EQ(Regret(kTimes, kTimes), 0);
}

TEST(RankingTest, AReversedScoreIsWorst) {
  const std::vector<double> scores = {-4, -1, -3, -2};
  EXPECT_EQ(TopKRecall(scores, kTimes, 2), 0);
  EXPECT_EQ(PairwiseAccuracy(scores, kTimes), 0);
  EXPECT_EQ(BestOfN(scores, kTimes, 1), 0.25);
  EXPECT_EQ(BestOfN(scores, kTimes, 3), 0.5);
  EXPECT_EQ(BestOfN(scores, kTimes, 9), 1);
  EXPECT_EQ(Regret(scores, kTimes), 3);
}

TEST(RankingTest, TiedScoresCountHalf) {
  const std::vector<double> scores(4, 1.0);
  EXPECT_EQ(PairwiseAccuracy(scores, kTimes), 0.5);
}

}  // namespace
}  // namespace mlc::costmodel
