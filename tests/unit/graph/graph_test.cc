#include "compiler/graph/graph.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "compiler/graph/tensor_io.h"
#include "compiler/ir/types.h"

namespace mlc::graph {
namespace {

constexpr char kText[] =
    "graph v1 {\n"
    "  %0 = input() : f32[1,8,6,6]{288,1,48,8}\n"
    "  %1 = weight() : f32[4,8,3,3]\n"
    "  %2 = conv(%0, %1) {dilations=[1,1], group=1, pads=[1,1,1,1], strides=[1,1]} : "
    "f32[1,4,6,6]\n"
    "  %3 = constant() {value=0.0} : f32[]\n"
    "  %4 = max(%2, %3) : f32[1,4,6,6]\n"
    "  %5 = constant() {values=[2,-1]} : i64[2]\n"
    "  return %4, %5\n"
    "}\n";

TEST(GraphText, RoundTrips) {
  const Result<Graph> graph = Graph::Parse(kText);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->ToText(), kText);
  EXPECT_EQ(graph->size(), 6);
  EXPECT_EQ(ReadInts(*(*graph)[5].data), (std::vector<int64_t>{2, -1}));
}

TEST(GraphText, FillsInDefaults) {
  const Result<Graph> graph = Graph::Parse(
      "graph v1 { %0 = input() : f32[2,3] %1 = pad(%0) {pads=[0,1,0,1]} : f32[2,5] return %1 }");
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_NE(graph->ToText().find("{mode=constant, pads=[0,1,0,1], value=0.0}"), std::string::npos);
}

TEST(GraphText, NamesLargeDataByDigest) {
  Graph graph;
  const std::vector<double> values(17, 1.0);
  graph.outputs() = {graph.Constant(WriteDoubles(DType::kF32, {17}, values))};
  const std::string text = graph.ToText();
  EXPECT_NE(text.find("{data=x"), std::string::npos);
  const Result<Graph> parsed = Graph::Parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->ToText(), text);
}

struct BadCase {
  const char* text;
  const char* message;
};

class GraphTextErrors : public testing::TestWithParam<BadCase> {};

TEST_P(GraphTextErrors, AreReported) {
  const Result<Graph> graph = Graph::Parse(GetParam().text);
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(graph.status().message().find(GetParam().message), std::string::npos)
      << graph.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    All, GraphTextErrors,
    testing::Values(
        BadCase{"", "expected 'graph'"}, BadCase{"graph {}", "expected 'v1'"},
        BadCase{"graph v1 { return %0 }", "not defined"},
        BadCase{"graph v1 { %1 = input() : f32[] return %1 }", "numbered in order"},
        BadCase{"graph v1 { %0 = input() : f31[] return %0 }", "unknown element type"},
        BadCase{"graph v1 { %0 = frobnicate() : f32[] return %0 }", "unknown operator"},
        BadCase{"graph v1 { %0 = pointwise() : f32[] return %0 }", "unknown operator"},
        BadCase{"graph v1 { %0 = input() {x=1} : f32[] return %0 }", "no attribute 'x'"},
        BadCase{"graph v1 { %0 = input() : f32[-1] return %0 }", "out of range"},
        BadCase{"graph v1 { %0 = input() : f32[4]{1,2} return %0 }", "one stride per dimension"},
        BadCase{"graph v1 { %0 = input() : f32[1099511627776,1099511627776] return %0 }",
                "too many elements"},
        BadCase{"graph v1 { %0 = constant() {values=[1.5]} : i32[1] return %0 }",
                "must be integers"},
        BadCase{"graph v1 { %0 = constant() {values=[1.5]} : f32[2] return %0 }", "does not fit"},
        BadCase{"graph v1 { %0 = input() : f32[2] %1 = input() : f32[3] %2 = add(%0, %1) : f32[3] "
                "return %2 }",
                "do not broadcast"},
        BadCase{"graph v1 { %0 = input() : f32[] return %0 } x", "after the end"}));

TEST(Graph, PointwiseInfersBroadcastType) {
  Graph graph;
  const ValueId a = graph.Input({DType::kF32, {4, 1, 3}, {}});
  const ValueId b = graph.Input({DType::kF32, {2, 1}, {}});
  const ValueId less = graph.Pointwise(ScalarOp::kLess, {a, b});
  EXPECT_EQ(graph[less].type, (TensorType{DType::kBool, {4, 2, 3}, {}}));
  const ValueId select = graph.Pointwise(ScalarOp::kSelect, {less, a, b});
  EXPECT_EQ(graph[select].type, (TensorType{DType::kF32, {4, 2, 3}, {}}));
}

TEST(Graph, CompactDropsDeadSortsAndKeepsInputs) {
  Graph graph;
  const ValueId a = graph.Input({DType::kF32, {2}, {}});
  graph.Input({DType::kF32, {5}, {}});
  const ValueId dead = graph.Pointwise(ScalarOp::kExp, {a});
  const ValueId relu = graph.Pointwise(ScalarOp::kAbs, {dead});
  const ValueId neg = graph.Pointwise(ScalarOp::kNeg, {a});
  graph.outputs() = {relu};
  graph.ReplaceUses(dead, neg);
  graph.Compact();
  EXPECT_EQ(graph.ToText(),
            "graph v1 {\n"
            "  %0 = input() : f32[2]\n"
            "  %1 = input() : f32[5]\n"
            "  %2 = neg(%0) : f32[2]\n"
            "  %3 = abs(%2) : f32[2]\n"
            "  return %3\n"
            "}\n");
  EXPECT_TRUE(graph.Verify().ok());
}

TEST(Graph, UsersListEveryRead) {
  Graph graph;
  const ValueId a = graph.Input({DType::kF32, {2}, {}});
  const ValueId square = graph.Pointwise(ScalarOp::kMul, {a, a});
  EXPECT_EQ(graph.Users()[0], (std::vector<ValueId>{square, square}));
}

TEST(TensorType, StridesExtentAndDensity) {
  const TensorType nhwc{DType::kF32, {1, 8, 6, 6}, ChannelsLastStrides({1, 8, 6, 6})};
  EXPECT_EQ(nhwc.strides, (std::vector<int64_t>{288, 1, 48, 8}));
  EXPECT_EQ(nhwc.Extent(), 288);
  EXPECT_FALSE(nhwc.IsDense());
  const TensorType unit{DType::kF32, {1, 8}, {999, 1}};
  EXPECT_TRUE(unit.IsDense());
  const TensorType broadcast{DType::kF32, {3, 8}, {0, 1}};
  EXPECT_EQ(broadcast.Extent(), 8);
}

// Two ways to the same numbers: tensors have the bits, kernels the arithmetic.
TEST(TensorIo, KeepsWhatKernelsRoundTo) {
  Rng rng(1);
  for (int round = 0; round < 20'000; ++round) {
    const double fraction =
        rng.Below(2) == 0 ? 2 * rng.Uniform() - 1 : static_cast<double>(rng.Below(4097)) / 4096;
    const double value = std::ldexp(fraction, static_cast<int>(rng.Below(300)) - 150);
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
      EXPECT_EQ(ReadDouble(*WriteDoubles(dtype, {1}, std::vector<double>{value}), 0),
                ir::RoundTo(dtype, value))
          << ToText(dtype) << " " << value;
    }
  }
  EXPECT_EQ(ReadInt(*WriteInts(DType::kU8, {1}, std::vector<int64_t>{257}), 0), 1);
}

}  // namespace
}  // namespace mlc::graph
