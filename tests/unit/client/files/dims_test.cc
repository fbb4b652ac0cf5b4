#include "client/model/dims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::client {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> SizesOf(const std::string& argument) {
  const Result<DimSizes> parsed = ParseDimSizes({argument});
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  std::vector<int64_t> sizes;
  if (!parsed.ok()) return sizes;
  for (const Dims& dims : parsed->combinations) sizes.push_back(dims.begin()->second);
  return sizes;
}

TEST(DimSizes, ListsAndRangesAreSetsInAscendingOrder) {
  EXPECT_THAT(SizesOf("n=5"), ElementsAre(5));
  EXPECT_THAT(SizesOf("n=32,1,8"), ElementsAre(1, 8, 32));
  EXPECT_THAT(SizesOf("n=2..5"), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(SizesOf("n=64..256:64"), ElementsAre(64, 128, 192, 256));
  EXPECT_THAT(SizesOf("n=1..10:4"), ElementsAre(1, 5, 9)) << "a step may end before the last size";
  EXPECT_THAT(SizesOf("n=1,4..6,5,100"), ElementsAre(1, 4, 5, 6, 100));
  EXPECT_THAT(SizesOf("n=7..7"), ElementsAre(7));
  EXPECT_THAT(SizesOf("n=9223372036854775807"), ElementsAre(INT64_MAX));
  EXPECT_THAT(SizesOf("n=9223372036854775806..9223372036854775807"),
              ElementsAre(INT64_MAX - 1, INT64_MAX));
}

TEST(DimSizes, SeveralDimensionsAreCombined) {
  const auto sizes = ParseDimSizes({"seq=16,32", "batch=1,8", "width=64"});
  ASSERT_TRUE(sizes.ok()) << sizes.status().message();
  EXPECT_THAT(sizes->varying, ElementsAre("batch", "seq")) << "those of one size do not vary";
  ASSERT_EQ(sizes->combinations.size(), 4u);
  EXPECT_EQ(sizes->combinations[1], (Dims{{"batch", 1}, {"seq", 32}, {"width", 64}}));
  EXPECT_THAT(sizes->SizesAt(2), ElementsAre(8, 16));
  EXPECT_EQ(sizes->TextAt(2), "batch=8, seq=16");
  const auto none = ParseDimSizes({});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->varies());
  ASSERT_EQ(none->combinations.size(), 1u);
  EXPECT_TRUE(none->combinations[0].empty());
}

TEST(DimSizes, MalformedTextIsRefused) {
  for (const char* bad : {"n",
                          "=3",
                          "n=",
                          "n=0",
                          "n=-1",
                          "n=3x",
                          "n=1,",
                          "n=,1",
                          "n=1,,2",
                          "n=5..2",
                          "n=0..4",
                          "n=1..",
                          "n=..4",
                          "n=1..4:",
                          "n=1..4:0",
                          "n=1..4:-1",
                          "n=1...4",
                          "n=1:2",
                          "n= 1",
                          "n=9223372036854775808",
                          "n=1..9223372036854775808"}) {
    EXPECT_EQ(ParseDimSizes({bad}).status(),
              InvalidArgument("--dim takes NAME=N, NAME=N,N,... or NAME=A..B:STEP with sizes of 1 "
                              "or more, not '" +
                              std::string(bad) + "'"));
  }
  EXPECT_EQ(ParseDimSizes({"n=1,2", "n=3"}).status(), InvalidArgument("--dim n is given twice"));
}

TEST(DimSizes, MoreThanALibraryHasAreRefused) {
  const std::string way_out =
      " combinations of sizes, and a library has at most 64: give fewer sizes, or a step, as in "
      "seq=64..512:64";
  EXPECT_EQ(SizesOf("n=1..64").size(), 64u);
  EXPECT_EQ(ParseDimSizes({"n=1..65"}).status(),
            InvalidArgument("--dim n=1..65 asks for 65" + way_out));
  EXPECT_EQ(
      ParseDimSizes({"n=1..9223372036854775807"}).status(),
      InvalidArgument("--dim n=1..9223372036854775807 asks for 9223372036854775807" + way_out))
      << "counted, not listed";
  EXPECT_EQ(ParseDimSizes({"a=1..64", "b=1,2"}).status(),
            InvalidArgument("--dim asks for 128" + way_out));
  EXPECT_EQ(ParseDimSizes({"a=1..40,41..80"}).status(),
            InvalidArgument("--dim asks for 80" + way_out));
}

TEST(DimSizes, OneSizeIsAskedForWhereOneIsMeant) {
  EXPECT_EQ(ParseDims({"n=1,2"}).status(),
            InvalidArgument("--dim n has several sizes, and one is meant here: give one"));
  const auto one = ParseDims({"n=4..4"});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->at("n"), 4);
}

}  // namespace
}  // namespace mlc::client
