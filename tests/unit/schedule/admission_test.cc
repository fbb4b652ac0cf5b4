#include "compiler/schedule/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/problem/pointwise_piece.h"
#include "compiler/schedule/problem/row_reduce_problem.h"
#include "tests/golden/workloads.h"

namespace mlc::schedule {
namespace {

using golden::Parsed;
using ::testing::HasSubstr;

// `steps` values, each made from the one before it, "@"; then `last`.
graph::Workload Chain(int steps, const std::string& line, const std::string& last = "") {
  std::string text = "%0 = input() : f32[8,8]\n";
  int id = 0;
  const auto add = [&](std::string form) {
    const std::string before = "%" + std::to_string(id);
    for (size_t at = form.find('@'); at != std::string::npos; at = form.find('@')) {
      form.replace(at, 1, before);
    }
    text += "%" + std::to_string(++id) + " = " + form + " : f32[8,8]\n";
  };
  for (int i = 0; i < steps; ++i) add(line);
  if (!last.empty()) add(last);
  return Parsed(text + "return %" + std::to_string(id) + "\n");
}

// Each step doubles what there is.
graph::Workload Doublings(int steps) {
  std::string text = "%0 = input() : f32[1]\n";
  for (int i = 0; i < steps; ++i) {
    const std::string n = "%" + std::to_string(i);
    text += "%" + std::to_string(i + 1) + " = concat(" + n + ", " + n + ") {axis=0} : f32[" +
            std::to_string(int64_t{2} << i) + "]\n";
  }
  return Parsed(text + "return %" + std::to_string(steps) + "\n");
}

std::string WhyNot(const graph::Workload& workload) { return CheckAdmissible(workload).message(); }

TEST(Admission, TakesWhatModelsAreMadeOfWithRoom) {
  for (const golden::NamedWorkload& kind : golden::AllKinds()) {
    EXPECT_EQ(WhyNot(kind.workload), "") << kind.name;
    EXPECT_LT(PlacesToCompute(kind.workload), WorkloadLimits::kPlaces / 20) << kind.name;
  }
  EXPECT_EQ(WhyNot(Chain(1000, "exp(@)")), "");
  EXPECT_EQ(WhyNot(Chain(1000, "add(@, @)")), "") << "read at one place, however often";
  EXPECT_EQ(WhyNot(Chain(500, "transpose(@) {perm=[1,0]}")), "");
}

TEST(Admission, CountsEveryWayOfCoordinates) {
  EXPECT_EQ(PlacesToCompute(Chain(1, "exp(@)")), 1);
  EXPECT_EQ(PlacesToCompute(Chain(10, "add(@, @)")), 10);
  EXPECT_EQ(PlacesToCompute(Doublings(3)), 1 + 2 + 4);
  EXPECT_TRUE(std::isinf(PlacesToCompute(Doublings(39))));
  const graph::Workload transposed = Parsed(
      "%0 = input() : f32[8,8]\n%1 = exp(%0) : f32[8,8]\n"
      "%2 = transpose(%1) {perm=[1,0]} : f32[8,8]\n%3 = add(%1, %2) : f32[8,8]\nreturn %3\n");
  EXPECT_EQ(PlacesToCompute(transposed), 1 + 1 + 2) << "the exponential at two places";
}

TEST(Admission, RefusesShortTextsThatExplode) {
  EXPECT_THAT(WhyNot(Doublings(35)), HasSubstr("repeatedly at different coordinates"));
  const graph::Workload gathers = Parsed(
      "%0 = input() : f32[1]\n%1 = input() : i64[1]\n%2 = exp(%0) : f32[1]\n"
      "%3 = gather(%2, %1) {axis=0} : f32[1]\nreturn %3\n");
  EXPECT_EQ(WhyNot(gathers), "");
}

TEST(Admission, RefusesWhatIsTooLargeAndSaysWhy) {
  EXPECT_THAT(WhyNot(Chain(1100, "exp(@)")),
              HasSubstr("too many operators: 1100, and at most 1024 are accepted"));
  const auto matmul = [](const std::string& rows, const std::string& depth) {
    return Parsed("%0 = input() : f32[" + rows + "," + depth + "]\n%1 = input() : f32[" + depth +
                  "," + rows + "]\n%2 = matmul(%0, %1) : f32[" + rows + "," + rows +
                  "]\nreturn %2\n");
  };
  EXPECT_THAT(WhyNot(matmul("1048576", "1048576")), HasSubstr("too large tensors"));
  EXPECT_THAT(WhyNot(matmul("200000", "200000")), HasSubstr("too much arithmetic"));
  EXPECT_THAT(WhyNot(matmul("0", "8")), HasSubstr("has no elements"));
  EXPECT_THAT(WhyNot(Parsed("%0 = input() : f32[1,1,70000]\n%1 = input() : f32[1,1,70000]\n"
                            "%2 = conv(%0, %1) {dilations=[1], group=1, pads=[0,0], strides=[1]} "
                            ": f32[1,1,1]\nreturn %2\n")),
              HasSubstr("a window of too many taps: 70000"));
  EXPECT_THAT(WhyNot(Parsed("%0 = input() : bool[8]\n%1 = add(%0, %0) : bool[8]\nreturn %1\n")),
              HasSubstr("add does not take bool operands"));
}

TEST(Families, CutADoublingChainNoFurtherThanItIsWorth) {
  EXPECT_EQ(CutPieces(Doublings(5)).size(), 32u);
  EXPECT_EQ(CutPieces(Doublings(12)).size(), 1u) << "one piece with conditions";
}

TEST(Families, WalkDeepGraphsWithoutRecursionAndEachValueOnce) {
  const graph::Workload deep = Chain(150'000, "exp(@)");
  EXPECT_TRUE(Fused::Covers(deep, deep.outputs()[0], {}));
  const graph::Workload shared = Chain(60, "add(@, @)", "softmax(@) {axis=1}");
  const auto problem = FindRowProblem(shared, golden::Avx512());
  ASSERT_TRUE(problem.has_value());
  EXPECT_EQ(problem->streams.size(), 1u);
}

}  // namespace
}  // namespace mlc::schedule
