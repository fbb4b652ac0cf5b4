#include "compiler/graph/passes/precision.h"

#include <cmath>

#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

Graph Parsed(const std::string& body) {
  Result<Graph> graph = Graph::Parse("graph v1 { " + body + " }");
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return graph.ok() ? *std::move(graph) : Graph();
}

// Converts `before`, expects the text and results close to those of `before`.
void Expect(Precision precision, const std::string& before, const std::string& after,
            double difference = 4e-3) {
  const Graph from = Parsed(before);
  Graph graph = from;
  const Result<bool> changed = ConvertPrecision(graph, precision);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(*changed, before != after);
  EXPECT_EQ(graph.ToText(), Parsed(after).ToText());
  EXPECT_TRUE(graph.Verify().ok()) << graph.Verify().message();
  EXPECT_LT(Difference(from, graph, 5), difference);
}

constexpr char kLinear[] =
    "%0 = input() : f32[2,2] %1 = constant() {values=[1.0,0.5,0.25,3.0]} : f32[2,2] "
    "%2 = matmul(%0, %1) : f32[2,2] return %2";

TEST(Precision, NamesAreReadBack) {
  for (const char* name : {"model", "fp32", "tf32", "fp16", "bf16"}) {
    const Result<Precision> precision = ParsePrecision(name);
    ASSERT_TRUE(precision.ok());
    EXPECT_EQ(ToText(*precision), name);
  }
  const Result<Precision> unknown = ParsePrecision("fp8");
  EXPECT_EQ(unknown.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(unknown.status().message().find("fp16"), std::string::npos);
}

TEST(Precision, TheModelsOwnChangesNothing) { Expect(Precision::kModel, kLinear, kLinear); }

TEST(Precision, CastsAtTheEdgesAndConvertsWeights) {
  Expect(Precision::kFp16, kLinear,
         "%0 = input() : f32[2,2] %1 = cast(%0) : f16[2,2] "
         "%2 = constant() {values=[1.0,0.5,0.25,3.0]} : f16[2,2] "
         "%3 = matmul(%1, %2) : f16[2,2] %4 = cast(%3) : f32[2,2] return %4");
}

// The evaluator computes in doubles, and reads packed weights as what they stand for.
TEST(Precision, WidenedModelsDecodePackedWeights) {
  const Graph from = Parsed(
      "%0 = input() : f32[2,2] %1 = constant() {values=[33,67]} : u8[2,1] "
      "%2 = constant() {values=[1.0,10.0]} : f32[2,1] "
      "%3 = dequantize(%1, %2) {bits=4, block=2, depth=2, zero=1} : f32[2,2] "
      "%4 = matmul(%0, %3) : f32[2,2] return %4");
  Graph graph = from;
  const Result<bool> changed = WidenToDouble(graph);
  ASSERT_TRUE(changed.ok() && *changed);
  EXPECT_TRUE(graph.Verify().ok()) << graph.Verify().message();
  EXPECT_LT(Difference(from, graph, 5), 1e-6);
}

TEST(Precision, MakesNarrowModelsWide) {
  Expect(Precision::kFp32, "%0 = input() : f16[2,2] %1 = matmul(%0, %0) : f16[2,2] return %1",
         "%0 = input() : f16[2,2] %1 = cast(%0) : f32[2,2] %2 = matmul(%1, %1) : f32[2,2] "
         "%3 = cast(%2) : f16[2,2] return %3");
}

TEST(Precision, MarksProductsForTf32) {
  Expect(Precision::kTf32, kLinear,
         "%0 = input() : f32[2,2] %1 = constant() {values=[1.0,0.5,0.25,3.0]} : f32[2,2] "
         "%2 = matmul(%0, %1) {precision=tf32} : f32[2,2] return %2");
}

TEST(Precision, DepthwiseProductsStayAsTheyAre) {
  constexpr char kDepthwise[] =
      "%0 = input() : f32[1,2,3,3] %1 = input() : f32[2,1,1,1] "
      "%2 = conv(%0, %1) {group=2} : f32[1,2,3,3] return %2";
  Expect(Precision::kTf32, kDepthwise, kDepthwise);
}

TEST(Precision, LeavesIntegersAlone) {
  constexpr char kText[] =
      "%0 = input() : i64[2] %1 = input() : i64[2] %2 = add(%0, %1) : i64[2] return %2";
  Expect(Precision::kFp16, kText, kText);
}

TEST(Precision, MasksBecomeTheLargestFiniteValues) {
  Graph graph = Parsed(
      "%0 = input() : f32[3] %1 = constant() {values=[-3.4028235e+38,-inf,1e6]} : f32[3] "
      "%2 = add(%0, %1) : f32[3] %3 = constant() {value=-inf} : f32[] %4 = max(%2, %3) : f32[3] "
      "return %4");
  ASSERT_TRUE(ConvertPrecision(graph, Precision::kFp16).ok());
  int constants = 0;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != Op::kConstant) continue;
    ++constants;
    for (const double value : ReadDoubles(*ConstantData(graph[id]))) {
      EXPECT_EQ(std::abs(value), 65504.0) << graph.ToText();
    }
  }
  EXPECT_EQ(constants, 2);
}

// The mask of a transformer: (1 - mask) * -3.4e38 has no place in f16 before it is clamped.
TEST(Precision, ConvertedIntegersStayWideUntilTheyMeetFloats) {
  // Clamping is felt where several terms lie beyond the range, as here.
  Expect(Precision::kFp16,
         "%0 = input() : i64[2] %1 = cast(%0) : f32[2] %2 = constant() {value=-1e6} : f32[] "
         "%3 = mul(%1, %2) : f32[2] %4 = input() : f32[2] %5 = softmax(%4) {axis=0} : f32[2] "
         "%6 = softmax(%3) {axis=0} : f32[2] %7 = add(%5, %6) : f32[2] return %7",
         "%0 = input() : i64[2] %1 = cast(%0) : f32[2] %2 = constant() {value=-1e6} : f32[] "
         "%3 = mul(%1, %2) : f32[2] %4 = input() : f32[2] %5 = cast(%4) : f16[2] "
         "%6 = softmax(%5) {axis=0} : f16[2] %7 = constant() {value=65504.0} : f32[] "
         "%8 = min(%3, %7) : f32[2] %9 = constant() {value=-65504.0} : f32[] "
         "%10 = max(%8, %9) : f32[2] %11 = cast(%10) : f16[2] "
         "%12 = softmax(%11) {axis=0} : f16[2] %13 = add(%6, %12) : f16[2] "
         "%14 = cast(%13) : f32[2] return %14",
         1);
}

// x * rsqrt(mean(x * x) + epsilon) of values near 300: their squares do not fit f16.
TEST(Precision, SquaresOfANormStayWide) {
  Graph graph = Parsed(
      "%0 = input() : f32[1,4] %1 = constant() {value=300.0} : f32[] %2 = mul(%0, %1) : f32[1,4] "
      "%3 = softmax(%2) {axis=1} : f32[1,4] %4 = mul(%3, %1) : f32[1,4] "
      "%5 = mul(%4, %4) : f32[1,4] %6 = reduce(%5) {axes=[1], kind=mean} : f32[1,1] "
      "%7 = constant() {value=1e-06} : f32[] %8 = add(%6, %7) : f32[1,1] %9 = rsqrt(%8) : f32[1,1] "
      "%10 = mul(%4, %9) : f32[1,4] return %10");
  const Graph before = graph;
  ASSERT_TRUE(ConvertPrecision(graph, Precision::kFp16).ok());
  ASSERT_TRUE(graph.Verify().ok());
  EXPECT_LT(Difference(before, graph, 3), 4e-3);
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kInput || graph[id].op == Op::kReduce) {
      EXPECT_EQ(graph[id].type.dtype, DType::kF32);
    }
    if (graph[id].op == Op::kSoftmax) {
      EXPECT_EQ(graph[id].type.dtype, DType::kF16);
    }
  }
}

TEST(Precision, RefusesConstantsWithoutData) {
  Graph graph = Parsed(
      "%0 = input() : f32[32] %1 = constant() {data=x00000000000000000000000000000000} : f32[32] "
      "%2 = add(%0, %1) : f32[32] return %2");
  const Result<bool> result = ConvertPrecision(graph, Precision::kFp16);
  EXPECT_EQ(result.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(result.status().message().find("%1"), std::string::npos);
}

}  // namespace
}  // namespace mlc::graph
