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
  EXPECT_THAT(SizesOf("n=0"), ElementsAre(0)) << "a cache that is empty";
  EXPECT_THAT(SizesOf("n=0..0"), ElementsAre(0));
  EXPECT_THAT(SizesOf("n=0..4:2,9"), ElementsAre(0, 2, 4, 9));
}

TEST(DimSizes, ARangeHasClassesAndAllSizes) {
  EXPECT_THAT(SizesOf("n=1..1"), ElementsAre(1));
  EXPECT_THAT(SizesOf("n=1..40"), ElementsAre(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40));
  EXPECT_THAT(SizesOf("n=5..17"), ElementsAre(6, 8, 12, 16, 17));
  EXPECT_THAT(SizesOf("n=5..40@10,20..60:10"), ElementsAre(10, 20, 30, 40))
      << "classes beyond the range are left out, its end is one";
  EXPECT_THAT(SizesOf("n=9223372036854775806..9223372036854775807"), ElementsAre(INT64_MAX));
  EXPECT_THAT(SizesOf("n=0..40"), ElementsAre(40)) << "the length of a cache needs no others";
  EXPECT_THAT(SizesOf("n=0..40@8,64"), ElementsAre(8, 40));
  EXPECT_THAT(ParseDimSizes({"n=1..40"}, ClassSteps::kNarrow)->dims[0].classes,
              ElementsAre(1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40));
  EXPECT_EQ(ParseDimSizes({"n=1..512"}, ClassSteps::kNarrow)->dims[0].classes.size(), 30u);
  EXPECT_EQ(ParseDimSizes({"n=0..40"})->dims[0].sizes.front(), 0);
  const auto range = ParseDimSizes({"b=2,3", "n=3..5"});
  ASSERT_TRUE(range.ok()) << range.status().message();
  EXPECT_TRUE(range->ranged());
  EXPECT_FALSE(range->dims[0].any_size);
  EXPECT_TRUE(range->dims[1].any_size);
  EXPECT_THAT(range->dims[1].sizes, ElementsAre(3, 4, 5));
  EXPECT_FALSE(ParseDimSizes({"n=1..9:1"})->ranged()) << "a step lists sizes";
  EXPECT_EQ(ParseDimSizes({"n=1..4097"}).status(),
            InvalidArgument("--dim n=1..4097 has more than 4096 sizes: give a narrower range"));
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
                          "n=-1",
                          "n=3x",
                          "n=1,",
                          "n=,1",
                          "n=1,,2",
                          "n=1..",
                          "n=..4",
                          "n=1..4:",
                          "n=1..4:0",
                          "n=1..4:-1",
                          "n=1...4",
                          "n=1:2",
                          "n=1@2",
                          "n=1..4@",
                          "n=1..4@x",
                          "n=1..4:2@2",
                          "n=1,2@2",
                          "n= 1",
                          "n=9223372036854775808",
                          "n=1..9223372036854775808"}) {
    EXPECT_EQ(ParseDimSizes({bad}).status(),
              InvalidArgument("--dim takes NAME=N, NAME=N,N,..., NAME=A..B, NAME=A..B:STEP or "
                              "NAME=A..B@N,N,... with sizes of 0 or more, not '" +
                              std::string(bad) + "'"));
  }
  for (const std::string bad : {"n=5..2", "n=5..2:1", "n=1,5..2", "n=5..2@3"}) {
    EXPECT_EQ(ParseDimSizes({bad}).status(),
              InvalidArgument("--dim " + bad + ": the range ends below its first size"));
  }
  EXPECT_EQ(ParseDimSizes({"n=1,2", "n=3"}).status(), InvalidArgument("--dim n is given twice"));
}

TEST(DimSizes, MoreThanALibraryHasAreRefused) {
  const std::string way_out =
      " combinations of sizes, and a library has at most 64: give fewer sizes, a step, as in "
      "seq=64..512:64, or the classes of a range, as in seq=1..512@64,128,256";
  EXPECT_EQ(SizesOf("n=1..64:1").size(), 64u);
  EXPECT_EQ(ParseDimSizes({"n=1..65:1"}).status(),
            InvalidArgument("--dim n=1..65:1 asks for 65" + way_out));
  EXPECT_EQ(
      ParseDimSizes({"n=1..9223372036854775807:1"}).status(),
      InvalidArgument("--dim n=1..9223372036854775807:1 asks for 9223372036854775807" + way_out))
      << "counted, not listed";
  EXPECT_EQ(ParseDimSizes({"a=1..64:1", "b=1,2"}).status(),
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
