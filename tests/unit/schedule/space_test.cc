#include "compiler/schedule/space/space.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace mlc::schedule {
namespace {

Space Sample() { return {"copy", 2, {{"a", {1, 2, 4}}, {"b", {0, 7}}, {"c", {5}}}}; }

TEST(Space, TheLastKnobIsTheFastest) {
  const Space space = Sample();
  ASSERT_EQ(space.NumPoints(), 6);
  EXPECT_EQ(space.At(0).ToText(), "copy/2 a=1 b=0 c=5");
  EXPECT_EQ(space.At(1).ToText(), "copy/2 a=1 b=7 c=5");
  EXPECT_EQ(space.At(5).ToText(), "copy/2 a=4 b=7 c=5");
}

TEST(Space, RanksAndConfigsAreInverse) {
  const Space space = Sample();
  for (int64_t rank = 0; rank < space.NumPoints(); ++rank) {
    EXPECT_EQ(space.RankOf(space.At(rank)), rank);
  }
}

TEST(Space, AStrangerHasNoRank) {
  const Space space = Sample();
  for (const char* text : {"copy/1 a=1 b=0 c=5", "move/2 a=1 b=0 c=5", "copy/2 a=3 b=0 c=5",
                           "copy/2 b=0 a=1 c=5", "copy/2 a=1 b=0", "copy/2 a=1 b=0 c=5 d=1"}) {
    EXPECT_EQ(space.RankOf(*Config::Parse(text)), -1) << text;
  }
}

TEST(Space, EachReasonHasAWordAndASentence) {
  std::set<std::string_view> words;
  for (int i = 0; i < kRejectReasonCount; ++i) {
    const auto reason = static_cast<RejectReason>(i);
    EXPECT_TRUE(words.insert(ToText(reason)).second) << ToText(reason);
    EXPECT_EQ(Explain(reason).back(), '.');
  }
  EXPECT_EQ(ToText(RejectReason::kNone), "none");
  EXPECT_EQ(ToText(RejectReason::kRegisters), "registers");
  EXPECT_EQ(ToText(RejectReason::kUnsupported), "unsupported");
}

TEST(SpaceDeathTest, RanksOutsideAreABug) { EXPECT_DEATH(Sample().At(6), "rank 6 of copy"); }

}  // namespace
}  // namespace mlc::schedule
