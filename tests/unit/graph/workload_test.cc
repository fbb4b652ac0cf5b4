#include "compiler/graph/workload.h"

#include <gtest/gtest.h>

namespace mlc::graph {
namespace {

constexpr char kConv[] =
    "workload v1 tolerance=1e-04 {\n"
    "  %0 = input() : f32[1,64,56,56]\n"
    "  %1 = weight() : f32[64,64,3,3]\n"
    "  %2 = weight() : f32[64,1,1]\n"
    "  %3 = constant() {value=0.0} : f32[]\n"
    "  %4 = conv(%0, %1) {dilations=[1,1], group=1, pads=[1,1,1,1], strides=[1,1]} : "
    "f32[1,64,56,56]\n"
    "  %5 = add(%4, %2) : f32[1,64,56,56]\n"
    "  %6 = max(%5, %3) : f32[1,64,56,56]\n"
    "  return %6\n"
    "}\n";

TEST(Workload, ParsesAndCounts) {
  const Result<Workload> workload = Workload::Parse(kConv);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->ToText(), kConv);
  EXPECT_EQ(workload->operands(), (std::vector<ValueId>{0, 1, 2}));
  EXPECT_EQ(workload->Summary(), "conv 3x3 64->64 56x56 s1 +add +max");
  const double elements = 64.0 * 56 * 56;
  EXPECT_EQ(workload->Flops(), elements * (2 * 64 * 9 + 2));
  EXPECT_EQ(workload->MinBytes(), 4 * (2 * elements + 64 * 64 * 9 + 64));
}

TEST(Workload, EqualFragmentsGiveEqualText) {
  Graph graph;
  const ValueId dead = graph.Input({DType::kF32, {9}, {}}, "unused");
  const ValueId bias = graph.Input({DType::kF32, {3}, {}}, "bias");
  const ValueId x = graph.Input({DType::kF32, {2, 3}, {3, 1}}, "x");
  const ValueId sum = graph.Pointwise(ScalarOp::kAdd, {x, bias});
  graph.outputs() = {sum};
  std::vector<ValueId> renumbering;
  const Result<Workload> workload = Workload::Create(graph, 1e-3, &renumbering);
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(workload->ToText(),
            "workload v1 tolerance=0.001 {\n"
            "  %0 = input() : f32[2,3]\n"
            "  %1 = input() : f32[3]\n"
            "  %2 = add(%0, %1) : f32[2,3]\n"
            "  return %2\n"
            "}\n");
  EXPECT_EQ(renumbering[static_cast<size_t>(dead)], kNoValue);
  EXPECT_EQ(renumbering[static_cast<size_t>(x)], 0);
  EXPECT_EQ(renumbering[static_cast<size_t>(bias)], 1);
  const Result<Workload> again = Workload::Parse(workload->ToText());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->digest(), workload->digest());
}

TEST(Workload, RejectsTensorData) {
  Graph graph;
  graph.outputs() = {graph.Constant(MakeTensorData(DType::kU8, {1}, {std::byte{1}}))};
  const Result<Workload> workload = Workload::Create(graph, 1e-4);
  ASSERT_FALSE(workload.ok());
  EXPECT_EQ(workload.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(workload.status().message().find("carries tensor data"), std::string::npos);
}

TEST(Workload, RejectsWildTolerance) {
  Graph graph;
  graph.outputs() = {graph.Input({})};
  EXPECT_FALSE(Workload::Create(graph, -1).ok());
  EXPECT_FALSE(
      Workload::Parse("workload v1 tolerance=nan { %0 = input() : f32[] return %0 }").ok());
}

TEST(Workload, AnotherVersionIsRefused) {
  for (const Status& refused : {Workload::Parse("workload v2 anything").status(),
                                Graph::Parse("\n graph v2 anything").status()}) {
    EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
    EXPECT_NE(refused.message().find("the text is of version 2, this program reads version 1: use "
                                     "a program of the release that wrote it"),
              std::string::npos)
        << refused.message();
  }
}

}  // namespace
}  // namespace mlc::graph
