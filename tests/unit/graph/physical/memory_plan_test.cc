#include "compiler/graph/physical/memory_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.h"
#include "tests/unit/graph/physical/program_of.h"

namespace mlc::graph {
namespace {

TEST(PlaceIntervals, ReusesWhatIsDead) {
  const std::vector<int64_t> offsets = PlaceIntervals({{100, 0, 1}, {100, 1, 2}, {100, 2, 3}});
  EXPECT_EQ(offsets, (std::vector<int64_t>{0, 128, 0}));
}

TEST(PlaceIntervals, TakesTheSmallestGapThatFits) {
  // Step 5 finds [0, 256) and [320, 448) free.
  const std::vector<int64_t> offsets =
      PlaceIntervals({{512, 9, 9}, {256, 0, 4}, {64, 0, 6}, {128, 0, 4}, {64, 0, 6}, {100, 5, 5}});
  EXPECT_EQ(offsets[0], 0);
  EXPECT_EQ(offsets[1], 0);
  EXPECT_EQ(offsets[5] % 64, 0);
  EXPECT_EQ(offsets[3], 256);
  EXPECT_EQ(offsets[2], 384);
  EXPECT_EQ(offsets[4], 448);
  EXPECT_EQ(offsets[5], 0);
}

TEST(PlaceIntervals, NeverOverlaps) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Interval> intervals;
    for (int i = 0; i < 30; ++i) {
      const int first = static_cast<int>(rng.Below(20));
      intervals.push_back(
          {static_cast<int64_t>(rng.Below(1000)), first, first + static_cast<int>(rng.Below(6))});
    }
    const std::vector<int64_t> offsets = PlaceIntervals(intervals);
    for (size_t i = 0; i < intervals.size(); ++i) {
      ASSERT_EQ(offsets[i] % 64, 0);
      for (size_t j = 0; j < i; ++j) {
        const Interval& a = intervals[i];
        const Interval& b = intervals[j];
        if (a.first > b.last || b.first > a.last) continue;
        const bool apart = offsets[i] + a.bytes <= offsets[j] || offsets[j] + b.bytes <= offsets[i];
        ASSERT_TRUE(apart) << "round " << round << ": " << i << " and " << j;
      }
    }
  }
}

TEST(MemoryPlan, PointwiseTaskWritesOverADyingOperand) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[16,32]\n"
      "  %1 = input() : f32[32,32]\n"
      "  %2 = matmul(%0, %1) : f32[16,32]\n"
      "  %3 = reduce(%2) {axes=[1], keepdims=1, kind=mean} : f32[16,1]\n"
      "  %4 = sub(%2, %3) : f32[16,32]\n"
      "  %5 = matmul(%4, %1) : f32[16,32]\n"
      "  return %5\n"
      "}\n");
  ASSERT_EQ(program.steps.size(), 4u);
  EXPECT_EQ(program.steps[2].outputs[0].byte_offset, program.steps[0].outputs[0].byte_offset);
  EXPECT_EQ(program.arena_bytes, 16 * 32 * 4 + 64);
  EXPECT_EQ(program.unshared_bytes, 2 * 16 * 32 * 4 + 64);
}

// The place of the last task's result and of the value before it, which dies there.
bool ReusesThePlaceBefore(std::string_view text) {
  const Program program = ProgramOf(text);
  EXPECT_EQ(program.steps.size(), 3u) << text;
  const Placement& before = program.steps[0].outputs[0];
  const Placement& after = program.steps[1].outputs[0];
  EXPECT_EQ(after.kind, Placement::Kind::kArena);
  return before.kind == after.kind && before.byte_offset == after.byte_offset;
}

// Kernels require that buffers do not alias: an operand's place is free for the result only where
// every element is read at the index that is written.
TEST(MemoryPlan, OnlyPointwiseTasksWriteOverAnOperand) {
  const std::string head =
      "graph v1 {\n  %0 = input() : f32[32,32]\n  %1 = matmul(%0, %0) : f32[32,32]\n";
  EXPECT_FALSE(ReusesThePlaceBefore(head + "  %2 = softmax(%1) {axis=1} : f32[32,32]\n" +
                                    "  %3 = matmul(%0, %2) : f32[32,32]\n  return %3\n}\n"));
  EXPECT_FALSE(ReusesThePlaceBefore(head + "  %2 = layer_norm(%1) {axis=1} : f32[32,32]\n" +
                                    "  %3 = matmul(%0, %2) : f32[32,32]\n  return %3\n}\n"));
  EXPECT_FALSE(ReusesThePlaceBefore(head + "  %2 = cum_sum(%1) {axis=1} : f32[32,32]\n" +
                                    "  %3 = matmul(%0, %2) : f32[32,32]\n  return %3\n}\n"));
  EXPECT_FALSE(ReusesThePlaceBefore(head + "  %2 = matmul(%1, %1) : f32[32,32]\n" +
                                    "  %3 = matmul(%0, %2) : f32[32,32]\n  return %3\n}\n"));
}

// The same value, once as it is and once transposed, is read at two indices.
TEST(MemoryPlan, TransposedReadsKeepTheOperandsPlace) {
  const Program program = ProgramOf(
      "graph v1 {\n"
      "  %0 = input() : f32[32,32]\n"
      "  %1 = softmax(%0) {axis=1} : f32[32,32]\n"
      "  %2 = transpose(%1) {perm=[1,0]} : f32[32,32]\n"
      "  %3 = add(%1, %2) : f32[32,32]\n"
      "  %4 = softmax(%3) {axis=0} : f32[32,32]\n"
      "  return %4\n"
      "}\n");
  for (const Step& step : program.steps) {
    for (const Placement& output : step.outputs) {
      for (const Placement& operand : step.operands) {
        EXPECT_FALSE(operand.kind == Placement::Kind::kArena && output.kind == operand.kind &&
                     output.byte_offset == operand.byte_offset);
      }
    }
  }
}

}  // namespace
}  // namespace mlc::graph
