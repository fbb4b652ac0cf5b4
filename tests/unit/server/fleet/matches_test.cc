// Patterns of classes.
#include "tests/unit/server/fleet/planner_fixture.h"

namespace mlc::server::fleet {
namespace {

TEST(MatchesTest, StarsStandForAnyText) {
  EXPECT_TRUE(Matches("target v1 cpu *", kCpu));
  EXPECT_TRUE(Matches("*isa=avx512*threads=8", kCpu));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_TRUE(Matches("a*b*c", "axxbyybzc"));
  EXPECT_FALSE(Matches("target v1 cpu *", kGpu));
  EXPECT_FALSE(Matches("a*b", "axc"));
  EXPECT_FALSE(Matches("", "x"));
}

}  // namespace
}  // namespace mlc::server::fleet
