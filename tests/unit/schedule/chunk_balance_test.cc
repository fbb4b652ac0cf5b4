#include "compiler/schedule/cpu/chunk_balance.h"

#include <gtest/gtest.h>

namespace mlc::schedule {
namespace {

TEST(ChunkBalance, TheLargestPartIsWhatCannotBeCutEvenly) {
  EXPECT_DOUBLE_EQ(LargestPart(8, 2), 1);
  EXPECT_DOUBLE_EQ(LargestPart(3, 2), 4.0 / 3);
  EXPECT_DOUBLE_EQ(LargestPart(7, 7), 1);
}

TEST(ChunkBalance, ThreadsWaitForTheOneWithMostChunks) {
  EXPECT_DOUBLE_EQ(ChunkImbalance(4, 2), 1);
  EXPECT_DOUBLE_EQ(ChunkImbalance(3, 2), 4.0 / 3);
  EXPECT_DOUBLE_EQ(ChunkImbalance(1, 4), 4);
}

TEST(ChunkBalance, UnevenChunksCountTheLessTheMoreThereAre) {
  EXPECT_DOUBLE_EQ(ChunkImbalance(2, 2, 1.5), 1.5);
  EXPECT_DOUBLE_EQ(ChunkImbalance(10, 2, 1.5), 1.1);
}

}  // namespace
}  // namespace mlc::schedule
