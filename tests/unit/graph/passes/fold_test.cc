#include <numeric>

#include "compiler/graph/passes/cse.h"
#include "compiler/graph/passes/dce.h"
#include "compiler/graph/passes/fold_constants.h"
#include "compiler/graph/passes/fold_scale.h"
#include "compiler/graph/passes/simplify.h"
#include "tests/unit/graph/passes/check.h"

namespace mlc::graph {
namespace {

TEST(FoldConstants, EvaluatesShapeArithmetic) {
  Check(FoldConstants,
        "%0 = constant() {values=[2,3,4]} : i64[3] %1 = constant() {values=[1]} : i64[1] "
        "%2 = gather(%0, %1) : i64[1] %3 = mul(%2, %2) : i64[1] return %3",
        "%0 = constant() {values=[9]} : i64[1] return %0");
}

TEST(FoldConstants, KeepsSplatsSymbolic) {
  Check(FoldConstants,
        "%0 = constant() {value=0.5} : f32[] %1 = expand(%0) : f32[2000,2000] "
        "%2 = add(%1, %1) : f32[2000,2000] %3 = slice(%2) {starts=[0,0]} : f32[1,1] return "
        "%3",
        "%0 = constant() {value=1.0} : f32[1,1] return %0");
}

// Its elements count up.
ValueId LargeWeights(Graph& graph, std::vector<int64_t> dims) {
  std::vector<double> values(512 * 1024);
  std::iota(values.begin(), values.end(), 0);
  return graph.Constant(WriteDoubles(DType::kF32, std::move(dims), values));
}

ValueId Transposed(Graph& graph, ValueId weights, std::vector<int64_t> dims) {
  Value transpose;
  transpose.op = Op::kTranspose;
  transpose.operands = {weights};
  transpose.attrs["perm"] = std::vector<int64_t>{1, 0};
  transpose.type = {DType::kF32, std::move(dims), {}};
  return graph.Add(std::move(transpose));
}

TEST(FoldConstants, LeavesLargeTransposedWeights) {
  Graph graph;
  graph.outputs() = {Transposed(graph, LargeWeights(graph, {512, 1024}), {1024, 512})};
  ASSERT_TRUE(graph.Verify().ok());
  const Result<bool> changed = FoldConstants(graph);
  ASSERT_TRUE(changed.ok());
  EXPECT_FALSE(*changed);
}

// As the weights of transposed convolutions are flipped: no view reads backwards.
TEST(FoldConstants, TurnsLargeWeightsThroughTheirViews) {
  Graph graph;
  Value flipped;
  flipped.op = Op::kSlice;
  flipped.operands = {Transposed(graph, LargeWeights(graph, {512, 1024}), {1024, 512})};
  flipped.attrs["starts"] = std::vector<int64_t>{1023, 0};
  flipped.attrs["steps"] = std::vector<int64_t>{-1, 1};
  flipped.type = {DType::kF32, {1024, 512}, {}};
  graph.outputs() = {graph.Add(std::move(flipped))};
  ASSERT_TRUE(graph.Verify().ok());
  const Result<bool> changed = FoldConstants(graph);
  ASSERT_TRUE(changed.ok());
  const Value& folded = graph[graph.outputs()[0]];
  ASSERT_EQ(folded.op, Op::kConstant);
  const TensorDataRef data = ConstantData(folded);
  EXPECT_EQ(ReadDouble(*data, 0), 1023);
  EXPECT_EQ(ReadDouble(*data, 1), 1023 + 1024);
  EXPECT_EQ(ReadDouble(*data, 512), 1022);
}

TEST(FoldConstants, LeavesWhatCannotBeEvaluated) {
  const std::string body =
      "%0 = constant() {values=[1]} : i32[1] %1 = constant() {values=[0]} : i32[1] "
      "%2 = div(%0, %1) : i32[1] return %2";
  Graph graph = *Graph::Parse("graph v1 { " + body + " }");
  EXPECT_FALSE(*FoldConstants(graph));
}

TEST(Cse, KeepsTheFirstOfEqualNodes) {
  Check(EliminateCommonSubexpressions,
        "%0 = input() : f32[2] %1 = constant() {values=[1.0,2.0]} : f32[2] "
        "%2 = constant() {values=[1.0,2.0]} : f32[2] %3 = add(%0, %1) : f32[2] "
        "%4 = add(%0, %2) : f32[2] %5 = mul(%3, %4) : f32[2] return %5",
        "%0 = input() : f32[2] %1 = constant() {values=[1.0,2.0]} : f32[2] "
        "%2 = add(%0, %1) : f32[2] %3 = mul(%2, %2) : f32[2] return %3");
}

TEST(Cse, TellsAttributesAndInputsApart) {
  const char* body =
      "%0 = input() : f32[2,2] %1 = input() : f32[2,2] %2 = softmax(%0) {axis=0} : f32[2,2] "
      "%3 = softmax(%0) {axis=1} : f32[2,2] %4 = add(%2, %3) : f32[2,2] %5 = add(%4, %1) : "
      "f32[2,2] return %5";
  Check(EliminateCommonSubexpressions, body, body);
}

TEST(Dce, DropsDeadValues) {
  Check(EliminateDeadCode,
        "%0 = input() : f32[2] %1 = exp(%0) : f32[2] %2 = neg(%0) : f32[2] return %2",
        "%0 = input() : f32[2] %1 = neg(%0) : f32[2] return %1");
}

constexpr char kConv[] =
    "%0 = input() : f32[1,1,2,2] %1 = constant() {values=[1.0,2.0]} : f32[2,1,1,1] "
    "%2 = conv(%0, %1) : f32[1,2,2,2] ";

TEST(FoldScale, BatchNormGoesIntoTheWeights) {
  Check(FoldScale,
        std::string(kConv) +
            "%3 = constant() {values=[1.0,-1.0]} : f32[2,1,1] %4 = add(%2, %3) : f32[1,2,2,2] "
            "%5 = constant() {values=[3.0,5.0]} : f32[2,1,1] %6 = mul(%4, %5) : f32[1,2,2,2] "
            "return %6",
        "%0 = input() : f32[1,1,2,2] %1 = constant() {values=[3.0,10.0]} : f32[2,1,1,1] "
        "%2 = conv(%0, %1) : f32[1,2,2,2] %3 = constant() {values=[3.0,-5.0]} : f32[2,1,1] "
        "%4 = add(%2, %3) : f32[1,2,2,2] return %4");
}

TEST(FoldScale, ScalarGoesIntoAMatrix) {
  Check(FoldScale,
        "%0 = input() : f32[3,2] %1 = constant() {values=[1.0,2.0]} : f32[2,1] "
        "%2 = matmul(%0, %1) : f32[3,1] %3 = constant() {value=0.5} : f32[] %4 = mul(%2, %3) : "
        "f32[3,1] return %4",
        "%0 = input() : f32[3,2] %1 = constant() {values=[0.5,1.0]} : f32[2,1] "
        "%2 = matmul(%0, %1) : f32[3,1] return %2");
}

TEST(FoldScale, LeavesFactorsAlongOtherDimensions) {
  const std::string body = std::string(kConv) +
                           "%3 = constant() {values=[3.0,5.0]} : f32[2] %4 = mul(%2, %3) : "
                           "f32[1,2,2,2] return %4";
  Check(FoldScale, body, body);
}

TEST(FoldScale, LeavesAConvolutionWithOtherReaders) {
  const std::string body = std::string(kConv) +
                           "%3 = constant() {value=2.0} : f32[] %4 = mul(%2, %3) : f32[1,2,2,2] "
                           "return %4, %2";
  Check(FoldScale, body, body);
}

}  // namespace
}  // namespace mlc::graph
