#include "base/rng.h"

#include <gtest/gtest.h>

namespace mlc {
namespace {

// SplitMix64 from seed 0: searches and test data depend on the sequence.
TEST(Rng, KeepsItsSequence) {
  Rng rng(0);
  EXPECT_EQ(rng.Next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(rng.Next(), 0x6e789e6aa1b965f4u);
}

TEST(Rng, BelowStaysBelowAndReachesAll) {
  Rng rng(1);
  int seen[3] = {};
  for (int i = 0; i < 300; ++i) ++seen[rng.Below(3)];
  for (const int count : seen) EXPECT_GT(count, 60);
}

TEST(Rng, UniformStaysInItsInterval) {
  Rng rng(2);
  for (int i = 0; i < 1000; ++i) {
    const double value = rng.Uniform();
    EXPECT_GE(value, 0.0);
    EXPECT_LT(value, 1.0);
  }
}

TEST(Rng, SplitsDifferByPurpose) {
  Rng rng(3);
  EXPECT_NE(rng.Split(1).Next(), rng.Split(2).Next());
}

}  // namespace
}  // namespace mlc
