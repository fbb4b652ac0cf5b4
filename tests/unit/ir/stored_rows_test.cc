#include "compiler/ir/stored_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mlc::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Kernels with an input x and an output y, whose rows are 8 elements.
std::vector<LoopRows> RowsOf(const std::string& buffers, const std::string& phases) {
  const std::string text =
      "kernel k {\n  in x: f32[64]\n  out y: f32[64]\n" + buffers + phases + "}\n";
  const Result<Kernel> kernel = Kernel::Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message() << text;
  const int64_t row_elements[] = {0, 8};
  return StoredRows(*kernel, row_elements);
}

std::vector<int64_t> FirstOf(const std::string& phase) { return RowsOf("", phase).at(0).first; }

TEST(StoredRows, AreThoseOfEachIterationWhereRowsAreOutermost) {
  EXPECT_THAT(FirstOf("parallel for p in 0 .. 4 { let r = mul(p, 2)\n for i in r .. add(r, 2) {"
                      "for c in 0 .. 8 { y[add(mul(i, 8), c)] = x[c] } } }"),
              ElementsAre(0, 2, 4, 6));
}

TEST(StoredRows, RepeatWhereRowsAreInnermost) {
  EXPECT_THAT(FirstOf("parallel for p in 0 .. 8 { let r = mod(p, 4)\n let c = mul(div(p, 4), 4)\n"
                      "for i in mul(r, 2) .. add(mul(r, 2), 2) {"
                      "y[add(mul(i, 8), c), mask=2] = x[c, lanes=4] } }"),
              ElementsAre(0, 2, 4, 6));
}

TEST(StoredRows, FollowConditionsThatAnIterationDecides) {
  EXPECT_THAT(FirstOf("parallel for p in 0 .. 3 { if less(p, 2) { y[mul(p, 8)] = x[0] } else {"
                      "y[add(mul(p, 8), 8)] = x[0] } }"),
              ElementsAre(0, 1, 3));
}

TEST(StoredRows, AreAllNeededWhereTheyCannotBeTold) {
  EXPECT_THAT(FirstOf("parallel for p in 0 .. 4 { y[mod(mul(p, 24), 64)] = x[p] }"), IsEmpty())
      << "neither ascending nor in groups";
  EXPECT_THAT(FirstOf("parallel for p in 0 .. 4 { y[p] = x[p] }"), IsEmpty()) << "one row";
  const std::vector<LoopRows> scratch = RowsOf("shared s: f32[64]\n",
                                               "parallel for p in 0 .. 8 { s[mul(p, 8)] = x[p] }"
                                               "parallel for q in 0 .. 8 { y[mul(q, 8)] = s[0] }");
  EXPECT_THAT(scratch.at(0).first, IsEmpty()) << "later phases may read all of it";
  EXPECT_THAT(scratch.at(1).first, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  const std::vector<LoopRows> own = RowsOf("",
                                           "parallel for p in 0 .. 8 { y[mul(p, 8)] = x[p] }"
                                           "parallel for q in 0 .. 8 { y[mul(q, 8)] = y[56] }");
  EXPECT_THAT(own.at(0).first, IsEmpty()) << "the other phase reads its results";
}

TEST(StoredRows, SayHowManyIterationsRun) {
  const LoopRows rows{{0, 0, 2, 4}};
  EXPECT_EQ(rows.RunsFor(1), 2);
  EXPECT_EQ(rows.RunsFor(2), 2);
  EXPECT_EQ(rows.RunsFor(3), 3);
  EXPECT_EQ(rows.RunsFor(9), 4);
}

}  // namespace
}  // namespace mlc::ir
