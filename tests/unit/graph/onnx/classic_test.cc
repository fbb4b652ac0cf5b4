// Operators of the domain ai.onnx.ml, by small numbers.
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

std::string FloatsAttr(std::string_view name, const std::vector<float>& values) {
  std::string bytes = wire::Bytes(1, name) + wire::Number(20, 6);
  for (const float value : values) bytes += wire::Float(7, value);
  return wire::Bytes(5, bytes);
}

std::string Classic(std::string_view op, const std::string& attributes,
                    const std::vector<std::string>& operands = {"x"},
                    const std::vector<std::string>& results = {"y"}) {
  return wire::Node(op, operands, results, attributes, "ai.onnx.ml");
}

TEST(ClassicOperators, ScaleAndSelectColumns) {
  EXPECT_THAT(RunNode(Classic("Scaler", FloatsAttr("offset", {1, 2}) + FloatsAttr("scale", {2})),
                      17, {2, 2}, {1, 2, 3, 4}),
              ElementsAre(0, 0, 4, 4));
  EXPECT_THAT(RunNode(Classic("ArrayFeatureExtractor", "", {"x", "i"}), 17, {2, 3},
                      {0, 1, 2, 3, 4, 5}, {wire::IntTensor("i", {2, 0})}),
              ElementsAre(2, 0, 5, 3));
  EXPECT_THAT(RunNode(Classic("Imputer", FloatsAttr("imputed_value_floats", {7, 8}) +
                                             wire::FloatAttr("replaced_value_float", NAN)),
                      17, {2, 2}, {NAN, 1, 2, NAN}),
              ElementsAre(7, 1, 2, 8));
}

TEST(ClassicOperators, RowsWithoutANormStay) {
  const auto run = [](const char* norm) {
    return RunNode(Classic("Normalizer", wire::TextAttr("norm", norm)), 17, {2, 2}, {3, -4, 0, 0});
  };
  EXPECT_THAT(run("L2"), Pointwise(DoubleNear(1e-6), std::vector<double>{0.6, -0.8, 0, 0}));
  EXPECT_THAT(run("L1"), Pointwise(DoubleNear(1e-6), std::vector<double>{3. / 7, -4. / 7, 0, 0}));
  EXPECT_THAT(run("MAX"), Pointwise(DoubleNear(1e-6), std::vector<double>{1, -4. / 3, 0, 0}));
}

TEST(ClassicOperators, LinearModels) {
  const std::string weights =
      FloatsAttr("coefficients", {1, 0, -1, 2}) + FloatsAttr("intercepts", {0.5, 0});
  EXPECT_THAT(RunNode(Classic("LinearRegressor", weights + wire::IntAttr("targets", 2)), 17, {2, 2},
                      {1, 2, 3, 1}),
              ElementsAre(1.5, 3, 3.5, -1));
  const std::string classifier = weights + wire::IntsAttr("classlabels_ints", {10, 20});
  EXPECT_THAT(
      RunNode(Classic("LinearClassifier", classifier, {"x"}, {"y", "s"}), 17, {2, 2}, {1, 2, 3, 1}),
      ElementsAre(20, 10));
  EXPECT_THAT(
      RunNode(Classic("LinearClassifier", classifier + wire::TextAttr("post_transform", "LOGISTIC"),
                      {"x"}, {"l", "y"}),
              17, {1, 2}, {-0.5, -0.25}),
      ElementsAre(0.5, 0.5));
}

TEST(ClassicOperators, BinarizerComparesWithItsThreshold) {
  const std::vector<double> xs = {-1, 0.5, 0.75, 2};
  EXPECT_THAT(RunNode(Classic("Binarizer", wire::FloatAttr("threshold", 0.5F)), 17, {4}, xs),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(RunNode(Classic("Binarizer", ""), 17, {4}, xs), ElementsAre(0, 1, 1, 1));
}

TEST(ClassicOperators, RefuseWhatDoesNotFit) {
  const auto message = [](const std::string& node) {
    wire::GraphParts parts;
    parts.nodes = {node};
    parts.inputs = {wire::FloatValue("x", {2, 2})};
    parts.outputs = {wire::FloatValue("y", {})};
    return std::string(ImportBytes(wire::Model(parts, 17)).status().message());
  };
  EXPECT_THAT(message(Classic("Scaler", FloatsAttr("offset", {1, 2, 3}))),
              HasSubstr("offset must have one entry, or one a column"));
  EXPECT_THAT(message(Classic("LinearRegressor", FloatsAttr("coefficients", {1, 2, 3}))),
              HasSubstr("do not fit the operand"));
  EXPECT_THAT(message(Classic("LinearClassifier", FloatsAttr("coefficients", {1, 2}))),
              HasSubstr("without two labels of integers"));
}

}  // namespace
}  // namespace mlc::graph::onnx
