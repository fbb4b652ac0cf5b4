#include "compiler/graph/physical/align_views.h"

#include <gtest/gtest.h>

#include "tests/unit/graph/physical/program_of.h"

namespace mlc::graph {
namespace {

Program ProgramWith(std::string_view text, int64_t alignment) {
  Result<Graph> graph = Graph::Parse(text);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  if (!graph.ok()) return {};
  PhysicalOptions options;
  options.rules.alignment = alignment;
  Result<Program> program = BuildPhysical(*std::move(graph), options);
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : Program{};
}

// Rows of five halves: the second begins at byte 10.
constexpr char kSecondRow[] =
    "graph v1 { %0 = input() : f16[3,5] %1 = softmax(%0) {axis=1} : f16[3,5] "
    "%2 = slice(%1) {starts=[1,0]} : f16[1,5] %3 = softmax(%2) {axis=1} : f16[1,5] return %3 }";

TEST(AlignViews, CopiesRangesThatBeginAstray) {
  EXPECT_EQ(StepsOf(ProgramWith(kSecondRow, 1)), "softmax; softmax");
  const Program program = ProgramWith(kSecondRow, 16);
  EXPECT_EQ(StepsOf(program), "softmax; slice; softmax");
  EXPECT_EQ(program.steps[1].operands[0].byte_offset % 16, 0);
}

TEST(AlignViews, LeavesAlignedViews) {
  constexpr char kText[] =
      "graph v1 { %0 = input() : f16[3,8] %1 = softmax(%0) {axis=1} : f16[3,8] "
      "%2 = slice(%1) {starts=[1,0]} : f16[1,8] %3 = softmax(%2) {axis=1} : f16[1,8] return %3 }";
  EXPECT_EQ(StepsOf(ProgramWith(kText, 16)), "softmax; softmax");
}

TEST(AlignViews, MovesConstantsAtOnce) {
  constexpr char kText[] =
      "graph v1 { %0 = input() : f32[2,3] "
      "%1 = constant() {values=[1.0,2.0,3.0,4.0,5.0,6.0]} : f32[2,3] "
      "%2 = slice(%1) {starts=[1,0]} : f32[1,3] %3 = add(%0, %2) : f32[2,3] return %3 }";
  const Program program = ProgramWith(kText, 16);
  EXPECT_EQ(StepsOf(program), "add");
  EXPECT_EQ(program.steps[0].operands[1].byte_offset, 0);
  ASSERT_EQ(program.constants.size(), 1u);
  EXPECT_EQ(program.constants[0]->bytes.size(), 3 * sizeof(float));
}

TEST(AlignViews, ConcatenationsWithPartsAstrayAreKernels) {
  constexpr char kText[] =
      "graph v1 { %0 = input() : f16[3,5] %1 = softmax(%0) {axis=1} : f16[3,5] "
      "%2 = input() : f16[2,5] %3 = softmax(%2) {axis=1} : f16[2,5] "
      "%4 = concat(%1, %3) {axis=0} : f16[5,5] %5 = softmax(%4) {axis=1} : f16[5,5] return %5 }";
  EXPECT_EQ(StepsOf(ProgramWith(kText, 1)), "softmax; softmax; softmax");
  EXPECT_EQ(StepsOf(ProgramWith(kText, 16)), "softmax; softmax; concat; softmax");
}

}  // namespace
}  // namespace mlc::graph
