// Operators that choose, place or fold elements, and exact products of integers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using wire::FloatTensor;
using wire::IntTensor;
using wire::Node;

TEST(TopK, KeepsTheOrderOfEqualElements) {
  const std::vector<double> x = {3, 1, 3, 2, 3, 0};
  const std::vector<std::string> k = {IntTensor("k", {4})};
  EXPECT_THAT(RunNode(Node("TopK", {"x", "k"}, {"y", "i"}), 11, {1, 6}, x, k),
              ElementsAre(3, 3, 3, 2));
  EXPECT_THAT(RunNode(Node("TopK", {"x", "k"}, {"v", "y"}), 11, {1, 6}, x, k),
              ElementsAre(0, 2, 4, 3));
  EXPECT_THAT(
      RunNode(Node("TopK", {"x", "k"}, {"v", "y"}, wire::IntAttr("largest", 0)), 11, {1, 6}, x, k),
      ElementsAre(5, 1, 3, 0));
}

// Long rows are ranked in blocks; infinities and ties across blocks must not show it.
TEST(TopK, OfLongRowsIsTheSame) {
  std::vector<double> x(5000, -std::numeric_limits<double>::infinity());
  x[4999] = 7;
  x[123] = 7;
  const std::vector<std::string> k = {IntTensor("k", {4})};
  EXPECT_THAT(RunNode(Node("TopK", {"x", "k"}, {"v", "y"}), 11, {5000}, x, k),
              ElementsAre(123, 4999, 0, 1));
  const double low = -std::numeric_limits<double>::infinity();
  EXPECT_THAT(RunNode(Node("TopK", {"x", "k"}, {"y", "i"}), 11, {5000}, x, k),
              ElementsAre(7, 7, low, low));
}

TEST(TopK, RefusesTooMany) {
  wire::GraphParts parts;
  parts.nodes = {Node("TopK", {"x", "k"}, {"y", "i"})};
  parts.initializers = {IntTensor("k", {7})};
  parts.inputs = {wire::FloatValue("x", {6})};
  parts.outputs = {wire::FloatValue("y", {})};
  EXPECT_THAT(ImportBytes(wire::Model(parts, 11)).status().message(),
              HasSubstr("k is out of range for the axis"));
}

// The middle of four pixels, a pixel, and places outside of the image.
TEST(GridSample, WeighsNeighboursAndPadsAsAsked) {
  const std::vector<std::string> grid = {FloatTensor("g", {1, 1, 3, 2}, {0, 0, -1, -1, 3, 3})};
  const std::vector<double> x = {1, 2, 3, 4};
  const auto run = [&](const std::string& attributes) {
    return RunNode(
        Node("GridSample", {"x", "g"}, {"y"}, wire::IntAttr("align_corners", 1) + attributes), 16,
        {1, 1, 2, 2}, x, grid);
  };
  EXPECT_THAT(run(""), ElementsAre(2.5, 1, 0));
  EXPECT_THAT(run(wire::TextAttr("padding_mode", "border")), ElementsAre(2.5, 1, 4));
  EXPECT_THAT(run(wire::TextAttr("padding_mode", "reflection")), ElementsAre(2.5, 1, 1));
  EXPECT_THAT(run(wire::TextAttr("mode", "nearest")), ElementsAre(1, 1, 0));
}

// Of an image whose values are linear in x and y, so that a sample tells its place.
TEST(RoiAlign, SamplesEachBoxOnItsOwnGrid) {
  std::vector<double> image(32);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<double>(i);
  const std::vector<std::string> boxes = {FloatTensor("b", {2, 4}, {0, 0, 4, 4, 2, -8, 4, -4}),
                                          IntTensor("i", {1, 0})};
  const auto run = [&](int64_t samples, const std::string& attributes) {
    return RunNode(Node("RoiAlign", {"x", "b", "i"}, {"y"},
                        wire::IntAttr("output_height", 2) + wire::IntAttr("output_width", 2) +
                            wire::IntAttr("sampling_ratio", samples) + attributes),
                   16, {2, 1, 4, 4}, image, boxes);
  };
  const auto centers = ElementsAre(18.5, 20.5, 26.5, 28.5, 0, 0, 0, 0);
  EXPECT_THAT(run(1, ""), centers);
  EXPECT_THAT(run(2, ""), centers);
  const std::string edges = wire::TextAttr("coordinate_transformation_mode", "output_half_pixel");
  EXPECT_THAT(run(1, edges), ElementsAre(21, 23, 29, 31, 0, 0, 0, 0));
  // Of a sample's four weighted pixels, the largest.
  EXPECT_THAT(run(1, wire::TextAttr("mode", "max")),
              ElementsAre(21. / 4, 23. / 4, 29. / 4, 31. / 4, 0, 0, 0, 0));
}

TEST(RoiAlign, NeedsToKnowHowManySamples) {
  wire::GraphParts parts;
  parts.nodes = {Node("RoiAlign", {"x", "b", "i"}, {"y"})};
  parts.initializers = {FloatTensor("b", {1, 4}, {0, 0, 4, 4}), IntTensor("i", {0})};
  parts.inputs = {wire::FloatValue("x", {1, 1, 4, 4})};
  parts.outputs = {wire::FloatValue("y", {})};
  const Status status = ImportBytes(wire::Model(parts)).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("sampling_ratio=0"));
}

TEST(DeformConv, SamplesMovedTaps) {
  const std::vector<std::string> operands = {
      FloatTensor("w", {1, 1, 1, 1}, {2}),
      FloatTensor("o", {1, 2, 2, 2}, {0.5, 0, 0, 0, 0, 0, 0, 5}), FloatTensor("b", {1}, {10}),
      FloatTensor("m", {1, 1, 2, 2}, {1, 0.5, 1, 1})};
  const std::vector<double> x = {1, 2, 3, 4};
  EXPECT_THAT(RunNode(Node("DeformConv", {"x", "w", "o"}, {"y"}), 19, {1, 1, 2, 2}, x, operands),
              ElementsAre(4, 4, 6, 0));
  EXPECT_THAT(
      RunNode(Node("DeformConv", {"x", "w", "o", "b", "m"}, {"y"}), 19, {1, 1, 2, 2}, x, operands),
      ElementsAre(14, 12, 16, 10));
}

TEST(DeformConv, WithoutOffsetsIsAConvolution) {
  std::vector<double> x(2 * 4 * 5 * 4);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7 % 11) - 5;
  std::vector<float> w(6 * 2 * 2 * 3);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 5 % 7) - 3;
  const std::vector<int64_t> dims = {2, 2 * 2 * 6, 2, 3};
  const std::vector<std::string> operands = {
      FloatTensor("w", {6, 2, 2, 3}, w), FloatTensor("b", {6}, {1, 2, 3, 4, 5, 6}),
      FloatTensor("o", dims, std::vector<float>(2 * 2 * 2 * 6 * 2 * 3, 0))};
  const std::string attributes = wire::IntAttr("group", 2) + wire::IntsAttr("strides", {2, 1}) +
                                 wire::IntsAttr("dilations", {2, 1}) +
                                 wire::IntsAttr("pads", {0, 1, 1, 0});
  EXPECT_EQ(
      RunNode(Node("DeformConv", {"x", "w", "o", "b"}, {"y"},
                   attributes + wire::IntAttr("offset_group", 2)),
              19, {2, 4, 5, 4}, x, operands),
      RunNode(Node("Conv", {"x", "w", "b"}, {"y"}, attributes), 19, {2, 4, 5, 4}, x, operands));
}

// `op` on x and {12, 10, 3}, as integers of ONNX's type `data_type`.
std::vector<double> RunOnIntegers(const std::string& op, int64_t data_type,
                                  const std::vector<double>& x,
                                  const std::string& attributes = "") {
  wire::GraphParts parts;
  parts.nodes = {
      Node("Cast", {"x"}, {"i"}, wire::IntAttr("to", data_type)),
      Node("Cast", {"c"}, {"j"}, wire::IntAttr("to", data_type)),
      Node(op,
           op == "BitwiseNot" ? std::vector<std::string>{"i"} : std::vector<std::string>{"i", "j"},
           {"y"}, attributes)};
  parts.initializers = {FloatTensor("c", {3}, {12, 10, 3})};
  parts.inputs = {wire::FloatValue("x", {3})};
  parts.outputs = {wire::FloatValue("y", {})};
  return EvaluateFirst(ImportBytes(wire::Model(parts, 18)), {Floats({3}, x)});
}

TEST(Bits, OfSignedAndUnsignedIntegers) {
  constexpr int64_t kUnsigned = 2, kInt = 6, kLong = 7;
  for (const int64_t type : {kInt, kLong}) {
    EXPECT_THAT(RunOnIntegers("BitwiseAnd", type, {6, -1, -4}), ElementsAre(4, 10, 0));
    EXPECT_THAT(RunOnIntegers("BitwiseOr", type, {6, -1, -4}), ElementsAre(14, -1, -1));
    EXPECT_THAT(RunOnIntegers("BitwiseXor", type, {6, -1, -4}), ElementsAre(10, -11, -1));
    EXPECT_THAT(RunOnIntegers("BitwiseNot", type, {6, -1, 0}), ElementsAre(-7, 0, -1));
  }
  EXPECT_THAT(RunOnIntegers("BitwiseNot", kUnsigned, {6, 255, 0}), ElementsAre(249, 0, 255));
  EXPECT_THAT(
      RunOnIntegers("BitShift", kUnsigned, {255, 1, 255}, wire::TextAttr("direction", "LEFT")),
      ElementsAre(0, 0, 248));
  EXPECT_THAT(
      RunOnIntegers("BitShift", kUnsigned, {255, 1, 255}, wire::TextAttr("direction", "RIGHT")),
      ElementsAre(0, 0, 31));
}

TEST(Bits, AreOfIntegersAndLogicOfTruth) {
  const auto message = [](const std::string& op, int64_t data_type) {
    wire::GraphParts parts;
    parts.nodes = {Node("Cast", {"x"}, {"i"}, wire::IntAttr("to", data_type)),
                   Node(op, {"i", "i"}, {"y"})};
    parts.inputs = {wire::FloatValue("x", {3})};
    parts.outputs = {wire::FloatValue("y", {})};
    return std::string(ImportBytes(wire::Model(parts, 18)).status().message());
  };
  constexpr int64_t kFloat = 1, kLong = 7, kBool = 9;
  EXPECT_THAT(message("BitwiseAnd", kFloat), HasSubstr("must be integers"));
  EXPECT_THAT(message("BitwiseOr", kBool), HasSubstr("must be integers"));
  EXPECT_THAT(message("Xor", kLong), HasSubstr("must be bool"));
}

TEST(Col2Im, AddsOverlapsAndMovesTiles) {
  const std::vector<std::string> shapes = {IntTensor("image", {1, 4}), IntTensor("block", {1, 2})};
  const auto run = [&](int64_t stride, const std::vector<double>& x) {
    return RunNode(
        Node("Col2Im", {"x", "image", "block"}, {"y"}, wire::IntsAttr("strides", {1, stride})), 18,
        {1, 2, static_cast<int64_t>(x.size()) / 2}, x, shapes);
  };
  EXPECT_THAT(run(1, {1, 2, 3, 10, 20, 30}), ElementsAre(1, 12, 23, 30));
  EXPECT_THAT(run(2, {1, 2, 10, 20}), ElementsAre(1, 10, 2, 20));
}

TEST(KnownData, DecidesShapesAtOnce) {
  const std::vector<std::string> known = {FloatTensor("m", {2, 2}, {0, 5, 6, 0}),
                                          wire::Tensor("c", 9, {3}, std::string("\1\0\1", 3))};
  EXPECT_THAT(RunNode(Node("NonZero", {"m"}, {"y"}), 13, {1}, {0}, known), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(RunNode(Node("Compress", {"x", "c"}, {"y"}), 11, {2, 2}, {1, 2, 3, 4}, known),
              ElementsAre(1, 3));
  wire::GraphParts parts;
  parts.nodes = {Node("NonZero", {"x"}, {"y"})};
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {})};
  const Status status = ImportBytes(wire::Model(parts, 13)).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("shape of its result depends on the values"));
}

TEST(ReverseSequence, LeavesWhatFollowsTheLength) {
  EXPECT_THAT(RunNode(Node("ReverseSequence", {"x", "n"}, {"y"}), 10, {3, 2}, {1, 2, 3, 4, 5, 6},
                      {IntTensor("n", {2, 3})}),
              ElementsAre(3, 6, 1, 4, 5, 2));
}

// Strides, output padding and pads that crop, against the definition.
TEST(ConvTranspose, AddsEveryTapWhereItFalls) {
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t extra : {int64_t{0}, stride - 1}) {
      SCOPED_TRACE(stride * 10 + extra);
      const std::vector<double> x = {1, 2, 4, 8};
      const std::vector<float> w = {1, 10, 100, 1000};
      std::vector<double> full(static_cast<size_t>(stride * 3 + 4 + extra), 0.5);
      for (size_t i = 0; i < x.size(); ++i) {
        for (size_t k = 0; k < w.size(); ++k) {
          full[i * static_cast<size_t>(stride) + k] += x[i] * static_cast<double>(w[k]);
        }
      }
      const std::vector<double> want(full.begin() + 1, full.end() - 2);
      EXPECT_THAT(
          RunNode(Node("ConvTranspose", {"x", "w", "b"}, {"y"},
                       wire::IntsAttr("strides", {stride}) + wire::IntsAttr("pads", {1, 2}) +
                           wire::IntsAttr("output_padding", {extra})),
                  11, {1, 1, 4}, x,
                  {FloatTensor("w", {1, 1, 4}, w), FloatTensor("b", {1}, {0.5F})}),
          Pointwise(DoubleNear(1e-4), want));
    }
  }
}

// 700 products of 255 and 255 exceed what single precision counts exactly.
TEST(MatMulInteger, IsExact) {
  const std::vector<std::string> w = {wire::Tensor("w", 2, {700, 1}, std::string(700, '\xff')),
                                      wire::Tensor("z", 2, {}, std::string(1, '\0'))};
  wire::GraphParts parts;
  parts.nodes = {Node("Cast", {"x"}, {"q"}, wire::IntAttr("to", 2)),
                 Node("MatMulInteger", {"q", "w", "z", "z"}, {"y"})};
  parts.initializers = w;
  parts.inputs = {wire::FloatValue("x", {1, 700})};
  parts.outputs = {wire::FloatValue("y", {})};
  std::vector<double> x(700, 255);
  x[699] = 254;
  EXPECT_THAT(EvaluateFirst(ImportBytes(wire::Model(parts, 10)), {Floats({1, 700}, x)}),
              ElementsAre(700 * 65025 - 255));
}

TEST(InverseTrigonometry, FollowsTheFunctions) {
  const std::vector<double> xs = {-1, -0.99, -0.5, -1e-3, 0, 0.3, 0.7, 1};
  const auto check = [&](const char* op, double (*value)(double), double scale, double shift) {
    SCOPED_TRACE(op);
    std::vector<double> in, want;
    for (const double x : xs) {
      in.push_back(x * scale + shift);
      want.push_back(value(static_cast<float>(in.back())));
    }
    EXPECT_THAT(RunNode(Node(op, {"x"}, {"y"}), 22, {8}, in), Pointwise(DoubleNear(2e-6), want));
  };
  check("Atan", std::atan, 50, 0);
  check("Atan", std::atan, 1, 0);
  check("Asin", std::asin, 1, 0);
  check("Acos", std::acos, 1, 0);
  check("Asinh", std::asinh, 3, 0);
  check("Acosh", std::acosh, 2, 3.5);
  check("Atanh", std::atanh, 0.9, 0);
}

TEST(BatchNormalization, InTrainingUsesTheStatisticsOfTheBatch) {
  const std::vector<std::string> one = {FloatTensor("s", {1}, {2}), FloatTensor("b", {1}, {1}),
                                        FloatTensor("m", {1}, {100}), FloatTensor("v", {1}, {9})};
  const std::string mode = wire::IntAttr("training_mode", 1) + wire::FloatAttr("epsilon", 0);
  EXPECT_THAT(RunNode(Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"}, mode), 15,
                      {2, 1, 2}, {1, 3, 1, 3}, one),
              Pointwise(DoubleNear(1e-6), std::vector<double>{-1, 3, -1, 3}));
  EXPECT_THAT(RunNode(Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"z", "y"}, mode), 15,
                      {2, 1, 2}, {1, 3, 1, 3}, one),
              Each(DoubleNear(90.2, 1e-4)));
}

}  // namespace
}  // namespace mlc::graph::onnx
