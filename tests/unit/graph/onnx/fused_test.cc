// Operators of the domain com.microsoft, by small numbers; the figures follow from their formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using wire::FloatTensor;

std::string Fused(std::string_view op, const std::vector<std::string>& operands,
                  const std::string& attributes = {},
                  const std::vector<std::string>& results = {"y"}) {
  return wire::Node(op, operands, results, attributes, "com.microsoft");
}

std::string ByteTensor(std::string_view name, const std::vector<int64_t>& dims,
                       const std::vector<uint8_t>& values) {
  return wire::Tensor(name, 2, dims, wire::Raw(values));
}

TEST(FusedOperators, Activations) {
  const double erf = (1 + std::erf(2 / std::sqrt(2))) / 2 * 2;
  EXPECT_THAT(RunNode(Fused("Gelu", {"x"}), 17, {1}, {2}),
              Pointwise(DoubleNear(1e-6), std::vector<double>{erf}));
  EXPECT_THAT(
      RunNode(Fused("BiasGelu", {"x", "b"}), 17, {1}, {1.5}, {FloatTensor("b", {1}, {0.5})}),
      Pointwise(DoubleNear(1e-6), std::vector<double>{erf}));
  EXPECT_THAT(RunNode(Fused("QuickGelu", {"x"}), 17, {1}, {1}),
              Pointwise(DoubleNear(1e-6), std::vector<double>{1 / (1 + std::exp(-1.702))}));
}

TEST(FusedOperators, ProductsTakeWhatIsFusedWithThem) {
  EXPECT_THAT(RunNode(Fused("FusedMatMul", {"x", "w"},
                            wire::IntAttr("transA", 1) + wire::FloatAttr("alpha", 2)),
                      17, {2, 1}, {1, 2}, {FloatTensor("w", {2, 1}, {3, 4})}),
              ElementsAre(22));
  EXPECT_THAT(RunNode(Fused("FusedGemm", {"x", "w"}, wire::TextAttr("activation", "Relu")), 17,
                      {1, 1}, {-2}, {FloatTensor("w", {1, 2}, {1, -1})}),
              ElementsAre(0, 2));
  EXPECT_THAT(RunNode(Fused("FusedConv", {"x", "w", "", "z"}, wire::TextAttr("activation", "Relu")),
                      17, {1, 1, 2}, {1, -5},
                      {FloatTensor("w", {1, 1, 1}, {2}), FloatTensor("z", {1, 1, 2}, {1, 1})}),
              ElementsAre(3, 0));
}

Status RefusalOf(const std::string& node) {
  wire::GraphParts parts;
  parts.nodes = {node};
  parts.inputs = {wire::FloatValue("x", {1, 1})};
  parts.outputs = {wire::FloatValue("x", {})};
  return ImportBytes(wire::Model(parts, 17)).status();
}

TEST(FusedOperators, RefuseWhatTheyDoNotKnow) {
  const Status unknown =
      RefusalOf(Fused("FusedGemm", {"x", "x"}, wire::TextAttr("activation", "Nothing")));
  EXPECT_EQ(unknown.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(unknown.message(), HasSubstr("activation 'Nothing' is not supported"));
  EXPECT_THAT(RefusalOf(Fused("FusedGemm", {"x", "x"}, {}, {})).message(),
              HasSubstr("the node has no results"));
  EXPECT_THAT(RefusalOf(Fused("Attention", {"x", "x"}, wire::IntAttr("num_heads", 1))).message(),
              HasSubstr("operands 0 and 1 must have rank 3 and 2"));
  EXPECT_THAT(RefusalOf(Fused("MatMulBnb4", {"x", "x"})).message(),
              HasSubstr("unsupported operators: com.microsoft:MatMulBnb4"));
}

TEST(FusedOperators, NormalisationsSkip) {
  const std::vector<std::string> skip = {FloatTensor("s", {1, 2}, {1, 1}),
                                         FloatTensor("g", {2}, {2, 2})};
  const std::string none = wire::FloatAttr("epsilon", 0);
  EXPECT_THAT(
      RunNode(Fused("SkipLayerNormalization", {"x", "s", "g"}, none), 17, {1, 2}, {2, 4}, skip),
      ElementsAre(-2, 2));
  EXPECT_THAT(RunNode(Fused("SkipSimplifiedLayerNormalization", {"x", "s", "g"}, none), 17, {1, 2},
                      {0, 6}, skip),
              Pointwise(DoubleNear(1e-5), std::vector<double>{0.4, 2.8}));
  EXPECT_THAT(RunNode(wire::Node("SimplifiedLayerNormalization", {"x", "g"}, {"y"}, none), 17,
                      {1, 2}, {1, 7}, skip),
              Pointwise(DoubleNear(1e-5), std::vector<double>{0.4, 2.8}));
}

TEST(FusedOperators, AttentionHidesMaskedKeys) {
  // With one head of one element, queries of zero weigh the keys that count alike.
  const std::vector<std::string> weights = {
      FloatTensor("w", {1, 3}, {0, 0, 1}),
      wire::Tensor("m", 6, {1, 3}, wire::Raw<int32_t>({1, 1, 0}))};
  const std::string heads = wire::IntAttr("num_heads", 1);
  EXPECT_THAT(
      RunNode(Fused("Attention", {"x", "w", "", "m"}, heads), 17, {1, 3, 1}, {1, 3, 8}, weights),
      ElementsAre(2, 2, 2));
  EXPECT_THAT(RunNode(Fused("Attention", {"x", "w"}, heads + wire::IntAttr("unidirectional", 1)),
                      17, {1, 3, 1}, {1, 3, 8}, weights),
              ElementsAre(1, 2, 4));
  EXPECT_THAT(RunNode(Fused("MultiHeadAttention", {"q", "q", "x", "", "m"}, heads), 17, {1, 3, 1},
                      {1, 3, 8}, {FloatTensor("q", {1, 3, 1}, {0, 0, 0}), weights[1]}),
              ElementsAre(2, 2, 2));
}

TEST(FusedOperators, QuantisedSumsAndMeans) {
  const std::vector<std::string> constants = {
      ByteTensor("a", {1, 1, 2}, {12, 14}), FloatTensor("s", {}, {0.5}), ByteTensor("z", {}, {10}),
      wire::Tensor("t", 9, {2}, std::string("\x01\x00", 2))};
  const auto run = [&](const std::string& node) {
    wire::GraphParts parts;
    parts.nodes = {node, wire::Node("DequantizeLinear", {"q", "s", "z"}, {"d"}),
                   wire::Node("Add", {"d", "x"}, {"y"})};
    parts.initializers = constants;
    parts.inputs = {wire::FloatValue("x", {1})};
    parts.outputs = {wire::FloatValue("y", {})};
    return EvaluateFirst(ImportBytes(wire::Model(parts, 17)), {Floats({1}, {0})});
  };
  EXPECT_THAT(run(Fused("QLinearAdd", {"a", "s", "z", "a", "s", "z", "s", "z"}, {}, {"q"})),
              ElementsAre(2, 4));
  EXPECT_THAT(run(Fused("QLinearMul", {"a", "s", "z", "a", "s", "z", "s", "z"}, {}, {"q"})),
              ElementsAre(1, 4));
  EXPECT_THAT(run(Fused("QLinearGlobalAveragePool", {"a", "s", "z", "s", "z"}, {}, {"q"})),
              ElementsAre(1.5));
  EXPECT_THAT(run(Fused("QLinearAveragePool", {"a", "s", "z", "s", "z"},
                        wire::IntsAttr("kernel_shape", {2}), {"q"})),
              ElementsAre(1.5));
  EXPECT_THAT(run(Fused("QLinearWhere", {"t", "a", "s", "z", "z", "s", "z", "s", "z"}, {}, {"q"})),
              ElementsAre(1, 0));
  EXPECT_THAT(run(Fused("QLinearConcat", {"s", "z", "a", "s", "z", "a", "s", "z"},
                        wire::IntAttr("axis", 1), {"q"})),
              ElementsAre(1, 2, 1, 2));
}

TEST(FusedOperators, QuantisedProducts) {
  const std::vector<std::string> constants = {
      ByteTensor("a", {1, 2}, {12, 14}), ByteTensor("w", {2, 1}, {3, 5}),
      FloatTensor("s", {}, {0.5}), ByteTensor("z", {}, {10}), ByteTensor("n", {}, {1})};
  EXPECT_THAT(RunNode(Fused("DynamicQuantizeMatMul", {"x", "w", "s", "n"}), 17, {1, 2}, {0, 255},
                      constants),
              ElementsAre(510));
  wire::GraphParts parts;
  parts.nodes = {Fused("QGemm", {"a", "s", "z", "w", "s", "n"}, {}, {"g"}),
                 wire::Node("Add", {"g", "x"}, {"y"})};
  parts.initializers = constants;
  parts.inputs = {wire::FloatValue("x", {1})};
  parts.outputs = {wire::FloatValue("y", {})};
  EXPECT_THAT(EvaluateFirst(ImportBytes(wire::Model(parts, 17)), {Floats({1}, {0})}),
              ElementsAre(5));
}

}  // namespace
}  // namespace mlc::graph::onnx
