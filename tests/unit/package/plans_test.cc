#include "compiler/package/plans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/front/front.h"
#include "compiler/package/c_header.h"
#include "tests/e2e/library/small_models.h"

namespace mlc::package {
namespace {

using ::testing::HasSubstr;

graph::Program Built(const graph::Graph& graph) {
  Result<graph::Program> program = front::BuildProgram(graph, {});
  EXPECT_TRUE(program.ok()) << program.status().message();
  return program.ok() ? *std::move(program) : graph::Program();
}

Status Add(PlanMerger& merger, std::vector<int64_t> sizes, graph::Program program) {
  const std::vector<Choice> choices(program.tasks.size());
  return merger.Add(std::move(sizes), std::move(program), choices);
}

Result<MergedPrograms> Merged(const std::vector<std::vector<int64_t>>& rows) {
  PlanMerger merger({"batch", "length"});
  for (const std::vector<int64_t>& row : rows) {
    MLC_TRY(Add(merger, row, Built(testing::Sized(row[0], row[1]))));
  }
  return merger.Take();
}

TEST(Plans, EqualConstantsAndTasksAreOne) {
  const graph::Program alone = Built(testing::Sized(2, 3));
  const Result<MergedPrograms> merged = Merged({{2, 3}, {2, 7}, {4, 3}, {4, 7}});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->program.constants.size(), alone.constants.size());
  EXPECT_EQ(merged->plans.plans.size(), 4u);
  EXPECT_EQ(merged->program.steps.size(), 4 * alone.steps.size());
  // The part behind the mean does not depend on the length.
  EXPECT_LT(merged->program.tasks.size(), 4 * alone.tasks.size());
  EXPECT_EQ(merged->choices.size(), merged->program.tasks.size());
  int occurrences = 0;
  for (const graph::Task& task : merged->program.tasks) occurrences += task.occurrences;
  EXPECT_EQ(occurrences, static_cast<int>(merged->program.steps.size()));
}

TEST(Plans, PlansAreTheProgramsTheyAreMadeOf) {
  const Result<MergedPrograms> merged = Merged({{2, 3}, {2, 7}, {4, 3}, {4, 7}});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const graph::Program program = Built(testing::Sized(2, 7));
  const Plan& plan = merged->plans.plans[1];
  EXPECT_EQ(plan.arena_bytes, program.arena_bytes);
  EXPECT_GE(merged->program.arena_bytes, program.arena_bytes);
  ASSERT_EQ(plan.step_count, static_cast<int>(program.steps.size()));
  for (int s = 0; s < plan.step_count; ++s) {
    const graph::Step& own = program.steps[static_cast<size_t>(s)];
    const graph::Step& step = merged->program.steps[static_cast<size_t>(plan.first_step + s)];
    EXPECT_EQ(merged->program.tasks[static_cast<size_t>(step.task)].workload.digest(),
              program.tasks[static_cast<size_t>(own.task)].workload.digest());
    for (size_t o = 0; o < own.operands.size(); ++o) {
      const graph::Placement &place = step.operands[o], &before = own.operands[o];
      EXPECT_EQ(place.byte_offset, before.byte_offset);
      if (before.kind != graph::Placement::Kind::kConstant) continue;
      const auto& data = *merged->program.constants[static_cast<size_t>(place.index)];
      const auto& expected = *program.constants[static_cast<size_t>(before.index)];
      EXPECT_TRUE(std::ranges::equal(data.bytes, expected.bytes));
    }
  }
}

TEST(Plans, PlansStandInAscendingOrderOfSizes) {
  const Result<MergedPrograms> merged = Merged({{4, 7}, {2, 3}, {4, 3}, {2, 7}});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  std::vector<std::vector<int64_t>> sizes;
  for (const Plan& plan : merged->plans.plans) sizes.push_back(plan.sizes);
  EXPECT_THAT(sizes,
              ::testing::ElementsAre(std::vector<int64_t>{2, 3}, std::vector<int64_t>{2, 7},
                                     std::vector<int64_t>{4, 3}, std::vector<int64_t>{4, 7}));
  EXPECT_EQ(merged->program.inputs[0].type.dims, (std::vector<int64_t>{2, 3, 16}));
}

TEST(Plans, AxesOfInputsAreFound) {
  const Result<MergedPrograms> merged = Merged({{16, 3}, {16, 7}, {4, 3}, {4, 7}});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  std::vector<std::tuple<int, int, int>> axes;
  for (const SizeAxis& axis : merged->plans.axes)
    axes.emplace_back(axis.input, axis.axis, axis.dim);
  // x[batch,length,16], y[batch,16]: an axis that is always 16 is no dimension's.
  EXPECT_THAT(
      axes, ::testing::ElementsAre(std::tuple(0, 0, 0), std::tuple(0, 1, 1), std::tuple(1, 0, 0)));
}

TEST(Plans, WhatIsNoSetOfSizesIsRefused) {
  const Status incomplete = Merged({{2, 3}, {4, 7}}).status();
  EXPECT_EQ(incomplete.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(incomplete.message(), HasSubstr("all combinations"));
  EXPECT_EQ(Merged({{2, 3}, {2, 3}}).status().code(), StatusCode::kInvalidArgument);

  PlanMerger without({"rows"});
  ASSERT_TRUE(Add(without, {5}, Built(testing::Perceptron())).ok());
  ASSERT_TRUE(Add(without, {6}, Built(testing::Perceptron())).ok());
  EXPECT_EQ(without.Take().status(),
            InvalidArgument("no input has an axis of the length of 'rows': give one size of it"));

  PlanMerger other({"rows"});
  ASSERT_TRUE(Add(other, {1}, Built(testing::Perceptron())).ok());
  const Status different = Add(other, {2}, Built(testing::Convolutional()));
  EXPECT_EQ(different.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(different.message(), HasSubstr("differ in number, type or rank"));

  PlanMerger counted({"rows"});
  ASSERT_TRUE(Add(counted, {1}, Built(testing::Perceptron())).ok());
  graph::Program more = Built(testing::Perceptron());
  more.counted.count = 1;
  const Status longer = Add(counted, {2}, std::move(more));
  EXPECT_THAT(longer.message(), HasSubstr("shapes that depend on data differs"));
}

TEST(Plans, TheHeaderDeclaresTheSizes) {
  const Result<MergedPrograms> merged = Merged({{2, 3}, {2, 7}, {4, 3}, {4, 7}});
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  const std::string header = CHeader(merged->plans, {}, "net");
  for (const char* line :
       {"#include \"mlc_sizes.h\"\n",
        "#define NET_INPUT_1_BYTES 256 /* f32[2,16] to f32[4,16] */\n", "#define NET_DIM_COUNT 2\n",
        "#define NET_SIZE_COUNT 4\n", "#define NET_DIM_1_LEAST 3\n",
        "#define NET_DIM_1_MOST 7 /* of 3, 7 */\n"}) {
    EXPECT_THAT(header, HasSubstr(line));
  }
  EXPECT_THAT(header, ::testing::Not(HasSubstr("batch"))) << "no text of the model is in it";
  EXPECT_THAT(SizesHeader(), HasSubstr("#include \"mlc_model.h\""));
}

}  // namespace
}  // namespace mlc::package
