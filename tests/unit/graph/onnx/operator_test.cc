// Decompositions and limits of operators; every operator is also run by the conformance tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/graph/onnx/ops/resize_matrix.h"
#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using wire::FloatTensor;
using wire::IntTensor;
using wire::Node;

struct Curve {
  const char* op;
  std::string attributes;
  double (*value)(double x);
};

TEST(Activations, FollowTheirFormulas) {
  const Curve curves[] = {
      {"Elu", "", [](double x) { return x < 0 ? std::exp(x) - 1 : x; }},
      {"Gelu", "", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }},
      {"HardSigmoid", "", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
      {"HardSwish", "", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"LeakyRelu", wire::FloatAttr("alpha", 0.25F), [](double x) { return x < 0 ? x / 4 : x; }},
      {"Mish", "", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"Softplus", "", [](double x) { return std::log1p(std::exp(x)); }},
      {"Softsign", "", [](double x) { return x / (1 + std::abs(x)); }},
      {"Swish", "", [](double x) { return x / (1 + std::exp(-x)); }},
      {"Tan", "", [](double x) { return std::tan(x); }},
  };
  const std::vector<double> xs = {-3, -1, -0.25, 0, 0.5, 1, 4};
  for (const Curve& curve : curves) {
    SCOPED_TRACE(curve.op);
    std::vector<double> want;
    for (const double x : xs) want.push_back(curve.value(x));
    EXPECT_THAT(RunNode(Node(curve.op, {"x"}, {"y"}, curve.attributes), 24, {7}, xs),
                Pointwise(DoubleNear(1e-5), want));
  }
}

TEST(Activations, DoNotOverflowWhereTheyAreFinite) {
  EXPECT_THAT(RunNode(Node("Softplus", {"x"}, {"y"}), 22, {2}, {1000, -1000}),
              ElementsAre(1000, 0));
  EXPECT_THAT(RunNode(Node("Elu", {"x"}, {"y"}), 22, {1}, {1000}), ElementsAre(1000));
}

TEST(Activations, SoftplusKeepsWhatIsSmallBesideOne) {
  EXPECT_THAT(RunNode(Node("Softplus", {"x"}, {"y"}), 22, {1}, {-40}),
              ElementsAre(DoubleNear(std::exp(-40.0), 1e-23)));
}

TEST(Conv, AddsItsBiasAndResolvesAutomaticPads) {
  const std::vector<std::string> weights = {FloatTensor("w", {1, 1, 3}, {1, 1, 1}),
                                            FloatTensor("b", {1}, {10})};
  EXPECT_THAT(
      RunNode(Node("Conv", {"x", "w", "b"}, {"y"}, wire::TextAttr("auto_pad", "SAME_UPPER")), 13,
              {1, 1, 3}, {1, 2, 3}, weights),
      ElementsAre(13, 16, 15));
}

TEST(Conv, TransposedSpreadsAndFlips) {
  const std::string attributes =
      wire::IntsAttr("strides", {2}) + wire::IntsAttr("output_padding", {1});
  EXPECT_THAT(RunNode(Node("ConvTranspose", {"x", "w"}, {"y"}, attributes), 13, {1, 1, 2}, {1, 2},
                      {FloatTensor("w", {1, 1, 3}, {1, 2, 3})}),
              ElementsAre(1, 2, 5, 4, 6, 0));
}

TEST(Pool, CeilModeCountsDeclaredPadsOnly) {
  const std::string attributes = wire::IntsAttr("kernel_shape", {2}) +
                                 wire::IntsAttr("strides", {2}) + wire::IntAttr("ceil_mode", 1) +
                                 wire::IntAttr("count_include_pad", 1);
  EXPECT_THAT(RunNode(Node("AveragePool", {"x"}, {"y"}, attributes), 19, {1, 1, 3}, {1, 3, 5}),
              ElementsAre(2, 5));
}

TEST(Pool, TakesTheLargestOfBytesAsFloats) {
  wire::GraphParts parts;
  parts.nodes = {Node("Cast", {"x"}, {"bytes"}, wire::IntAttr("to", 3)),
                 Node("MaxPool", {"bytes"}, {"y"}, wire::IntsAttr("kernel_shape", {2}))};
  parts.inputs = {wire::FloatValue("x", {1, 1, 3})};
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> graph = ImportBytes(wire::Model(parts));
  EXPECT_THAT(EvaluateFirst(graph, {Floats({1, 1, 3}, {-100, -128, 7})}), ElementsAre(-100, 7));
  EXPECT_EQ((*graph)[graph->outputs()[0]].type.dtype, DType::kI8);
  for (ValueId id = 0; id < graph->size(); ++id) {
    if ((*graph)[id].op != Op::kPool) continue;
    EXPECT_EQ((*graph)[id].type.dtype, DType::kF32);
  }
}

// The indices are of the whole operand; of equal elements the first one is meant.
TEST(Pool, TellsWhereTheLargestIs) {
  const std::vector<double> x = {1, 5, 5, 0, -3, -2, -1, -4};
  const std::string attributes = wire::IntsAttr("kernel_shape", {3}) +
                                 wire::IntsAttr("strides", {2}) + wire::IntsAttr("pads", {1, 0});
  EXPECT_THAT(RunNode(Node("MaxPool", {"x"}, {"v", "y"}, attributes), 12, {1, 2, 4}, x),
              ElementsAre(1, 1, 5, 6));
}

TEST(Pool, CountsDownColumnsIfAsked) {
  const std::vector<double> x = {1, 2, 3, 9, 5, 6};
  const std::string attributes = wire::IntsAttr("kernel_shape", {2, 2});
  EXPECT_THAT(RunNode(Node("MaxPool", {"x"}, {"v", "y"}, attributes), 12, {1, 1, 2, 3}, x),
              ElementsAre(3, 5));
  EXPECT_THAT(
      RunNode(Node("MaxPool", {"x"}, {"v", "y"}, attributes + wire::IntAttr("storage_order", 1)),
              12, {1, 1, 2, 3}, x),
      ElementsAre(1, 5));
}

TEST(Pool, PutsElementsBackWhereTheyCameFrom) {
  const std::vector<std::string> operands = {
      wire::Tensor("i", 7, {1, 1, 2}, wire::Raw(std::vector<int64_t>{1, 2})),
      IntTensor("s", {1, 1, 6})};
  const std::string attributes =
      wire::IntsAttr("kernel_shape", {2}) + wire::IntsAttr("strides", {2});
  EXPECT_THAT(
      RunNode(Node("MaxUnpool", {"x", "i"}, {"y"}, attributes), 11, {1, 1, 2}, {7, 8}, operands),
      ElementsAre(0, 7, 8, 0));
  EXPECT_THAT(RunNode(Node("MaxUnpool", {"x", "i", "s"}, {"y"}, attributes), 11, {1, 1, 2}, {7, 8},
                      operands),
              ElementsAre(0, 7, 8, 0, 0, 0));
}

TEST(BatchNormalization, FoldsIntoOneScaleAndShift) {
  wire::GraphParts parts;
  parts.nodes = {
      Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, wire::FloatAttr("epsilon", 0))};
  for (const char* const name : {"s", "b", "m", "v"}) {
    parts.initializers.push_back(FloatTensor(name, {2}, {4, 1}));
  }
  parts.inputs = {wire::FloatValue("x", {1, 2, 1, 1})};
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> graph = ImportBytes(wire::Model(parts));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->size(), 5) << graph->ToText();
  EXPECT_THAT(EvaluateFirst(graph, {Floats({1, 2, 1, 1}, {6, 3})}), ElementsAre(8, 3));
}

TEST(Einsum, JoinsByMatrixProducts) {
  EXPECT_THAT(RunNode(Node("Einsum", {"x", "w"}, {"y"}, wire::TextAttr("equation", "bi,ij->jb")),
                      13, {2, 2}, {1, 2, 3, 4}, {FloatTensor("w", {2, 2}, {1, 0, 1, 1})}),
              ElementsAre(3, 7, 2, 4));
  EXPECT_THAT(RunNode(Node("Einsum", {"x"}, {"y"}, wire::TextAttr("equation", "...i->...")), 13,
                      {2, 2}, {1, 2, 3, 4}),
              ElementsAre(3, 7));
}

TEST(Einsum, KeepsBatchesAndHeadsApart) {
  wire::GraphParts parts;
  parts.nodes = {Node("Einsum", {"q", "k"}, {"y"}, wire::TextAttr("equation", "bhid,bhjd->bhij"))};
  parts.inputs = {wire::FloatValue("q", {2, 3, 5, 4}), wire::FloatValue("k", {2, 3, 6, 4})};
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> graph = ImportBytes(wire::Model(parts));
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_THAT(graph->ToText(), HasSubstr("matmul(%0, %2) : f32[2,3,5,6]"));
  EXPECT_THAT(graph->ToText(), testing::Not(HasSubstr("reshape")));
}

TEST(Gemm, ScalesTransposesAndAdds) {
  const std::string attributes =
      wire::FloatAttr("alpha", 2) + wire::FloatAttr("beta", 3) + wire::IntAttr("transB", 1);
  EXPECT_THAT(RunNode(Node("Gemm", {"x", "w", "c"}, {"y"}, attributes), 13, {1, 2}, {1, 2},
                      {FloatTensor("w", {2, 2}, {1, 1, 0, 1}), FloatTensor("c", {2}, {1, 10})}),
              ElementsAre(9, 34));
}

// 7/11 in single precision is less than that, and seven elements are wanted all the same.
TEST(Resize, TakesScalesInSinglePrecision) {
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_THAT(RunNode(Node("Resize", {"x", "", "s"}, {"y"},
                           wire::TextAttr("coordinate_transformation_mode", "asymmetric") +
                               wire::TextAttr("nearest_mode", "floor")),
                      13, {11}, x, {FloatTensor("s", {1}, {7.0F / 11})}),
              ElementsAre(0, 1, 3, 4, 6, 7, 9));
}

TEST(ResizeMatrix, AntialiasAveragesWhenShrinking) {
  ResizeForm form;
  form.mode = "linear";
  form.coordinate_mode = "half_pixel";
  form.antialias = true;
  const ResizeMatrix matrix = MakeResizeMatrix(form, {4, 2, 0.5, 0, 1});
  double sum = 0;
  for (size_t i = 0; i < 4; ++i) sum += matrix.weights[i];
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_GT(matrix.weights[2], 0);
}

TEST(Quantize, RoundsHalfToEvenAndSaturates) {
  EXPECT_THAT(RunNode(Node("QuantizeLinear", {"x", "s"}, {"y"}), 13, {4}, {0.5, 1.5, -3, 1e6},
                      {FloatTensor("s", {}, {1})}),
              ElementsAre(0, 2, 0, 255));
}

TEST(Quantize, DequantizesBlocks) {
  const std::string attributes = wire::IntAttr("axis", 0) + wire::IntAttr("block_size", 2);
  EXPECT_THAT(RunNode(Node("DequantizeLinear", {"x", "s"}, {"y"}, attributes), 21, {3}, {1, 2, 3},
                      {FloatTensor("s", {2}, {10, 100})}),
              ElementsAre(10, 20, 300));
}

struct Refused {
  std::string node;
  std::vector<std::string> initializers;
  const char* message;
};

TEST(Operators, RefuseWhatTheStandardForbids) {
  const Refused cases[] = {
      {Node("Reshape", {"x", "s"}, {"y"}), {IntTensor("s", {-1, -1})}, "two unknown dimensions"},
      {Node("Reshape", {"x", "s"}, {"y"}), {IntTensor("s", {INT64_MAX, 4})}, "overflows"},
      {Node("Gather", {"x", "s"}, {"y"}), {IntTensor("s", {7})}, "index 7 is out of range"},
      {Node("Transpose", {"x"}, {"y"}, wire::IntsAttr("perm", {0, 0})),
       {},
       "axis 0 is given twice"},
      {Node("Concat", {"x"}, {"y"}), {}, "attribute 'axis' is missing"},
      {Node("Softmax", {"x"}, {"y"}, wire::FloatAttr("axis", 1)), {}, "has the wrong type"},
      {Node("Softmax", {"x"}, {"y"}, wire::IntAttr("axis", 5)), {}, "axis 5 is out of range"},
      {Node("Squeeze", {"x", "s"}, {"y"}), {IntTensor("s", {0})}, "cannot squeeze dimension 0"},
      {Node("Add", {"x", ""}, {"y"}), {}, "operand 1 is missing"},
      {Node("Cast", {"x"}, {"y"}), {}, "attribute 'to' is missing"},
      {Node("DepthToSpace", {"x"}, {"y"}, wire::IntAttr("blocksize", 0)), {}, "must have rank 4"},
      {Node("Expand", {"x", "s"}, {"y"}),
       {IntTensor("s", {int64_t{1} << 40, 2, 2})},
       "is too large"},
      {Node("MaxPool", {"x"}, {"y"}, wire::IntsAttr("kernel_shape", {2})), {}, "must have rank 3"},
      {Node("MatMul", {"x", "s"}, {"y"}), {FloatTensor("s", {3, 1}, {1, 1, 1})}, "differ"},
      {Node("DequantizeLinear", {"x", "s"}, {"y"}), {IntTensor("s", {1})}, "the scale must be of"},
      {Node("DequantizeLinear", {"x", "s", "s"}, {"y"}, wire::IntAttr("output_dtype", 3)),
       {FloatTensor("s", {}, {1})},
       "output_dtype must be a float type"},
  };
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.message);
    wire::GraphParts parts;
    parts.nodes = {refused.node};
    parts.initializers = refused.initializers;
    parts.inputs = {wire::FloatValue("x", {2, 2})};
    parts.outputs = {wire::FloatValue("y", {})};
    const Result<Graph> graph = ImportBytes(wire::Model(parts));
    EXPECT_EQ(graph.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(graph.status().message(), HasSubstr(refused.message));
    EXPECT_THAT(graph.status().message(), HasSubstr("node of 'y'"));
  }
}

TEST(Operators, RefuseMoreOperandsAndResultsThanTheyHave) {
  const auto import = [](const std::string& node) {
    wire::GraphParts parts;
    parts.nodes = {node};
    parts.inputs = {wire::FloatValue("x", {1, 2, 2, 2})};
    parts.outputs = {wire::FloatValue("y", {})};
    return ImportBytes(wire::Model(parts)).status();
  };
  EXPECT_EQ(import(Node("Relu", {"x", "x"}, {"y"})),
            InvalidArgument("node of 'y' (Relu) has 2 operands, and the operator has 1 at most: "
                            "leave the others out of the node"));
  EXPECT_EQ(import(Node("Relu", {"x"}, {"y", "z"})),
            InvalidArgument("node of 'y' (Relu) has 2 results, and the operator has 1 at most: "
                            "leave the others out of the node"));
  // Names of nothing at the end stand for what is left out.
  EXPECT_TRUE(import(Node("Relu", {"x", "", ""}, {"y", ""})).ok());
  EXPECT_FALSE(import(Node("Relu", {"x", "", "x"}, {"y"})).ok());
  EXPECT_TRUE(import(Node("Sum", {"x", "x", "x", "x", "x", "x", "x", "x", "x"}, {"y"})).ok());
  EXPECT_EQ(import(Node("Gelu", {"x", "x"}, {"y"}, "", "com.microsoft")).message(),
            "node of 'y' (Gelu) has 2 operands, and the operator has 1 at most: leave the others "
            "out of the node");
}

TEST(Operators, EveryRowIsListedOnce) {
  const std::vector<std::string> names = SupportedOperators();
  EXPECT_GT(names.size(), 120u);
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace mlc::graph::onnx
