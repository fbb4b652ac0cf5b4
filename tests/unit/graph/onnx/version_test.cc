// Operators whose meaning or form changed between versions of the operator set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using wire::FloatTensor;
using wire::IntTensor;
using wire::Node;

TEST(Versions, SoftmaxWasFlatBefore13) {
  const std::vector<int64_t> dims = {1, 2, 2};
  const std::vector<double> flat = RunNode(Node("Softmax", {"x"}, {"y"}), 11, dims, {0, 0, 0, 0});
  EXPECT_THAT(flat, ElementsAre(0.25, 0.25, 0.25, 0.25));
  const std::vector<double> last = RunNode(Node("Softmax", {"x"}, {"y"}), 13, dims, {0, 0, 0, 0});
  EXPECT_THAT(last, ElementsAre(0.5, 0.5, 0.5, 0.5));
}

TEST(Versions, ClipBoundsMovedFromAttributesToOperands) {
  const std::string attrs = wire::FloatAttr("min", -1) + wire::FloatAttr("max", 1);
  EXPECT_THAT(RunNode(Node("Clip", {"x"}, {"y"}, attrs), 6, {3}, {-5, 0, 5}),
              ElementsAre(-1, 0, 1));
  EXPECT_THAT(RunNode(Node("Clip", {"x", "", "hi"}, {"y"}), 11, {3}, {-5, 0, 5},
                      {FloatTensor("hi", {}, {1})}),
              ElementsAre(-5, 0, 1));
}

TEST(Versions, AxesMovedFromAttributesToOperands) {
  const std::string axes = wire::IntsAttr("axes", {1});
  EXPECT_THAT(RunNode(Node("ReduceSum", {"x"}, {"y"}, axes), 11, {2, 2}, {1, 2, 3, 4}),
              ElementsAre(3, 7));
  EXPECT_THAT(RunNode(Node("ReduceSum", {"x", "a"}, {"y"}), 13, {2, 2}, {1, 2, 3, 4},
                      {IntTensor("a", {0})}),
              ElementsAre(4, 6));
  EXPECT_THAT(RunNode(Node("Squeeze", {"x"}, {"y"}, axes), 11, {2, 1}, {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(
      RunNode(Node("Unsqueeze", {"x", "a"}, {"y"}), 13, {2}, {1, 2}, {IntTensor("a", {-1})}),
      ElementsAre(1, 2));
}

TEST(Versions, SliceTookAttributesBefore10) {
  const std::string attrs = wire::IntsAttr("starts", {1}) + wire::IntsAttr("ends", {1000});
  EXPECT_THAT(RunNode(Node("Slice", {"x"}, {"y"}, attrs), 9, {3}, {1, 2, 3}), ElementsAre(2, 3));
  EXPECT_THAT(RunNode(Node("Slice", {"x", "s", "e", "a", "t"}, {"y"}), 13, {3}, {1, 2, 3},
                      {IntTensor("s", {-1}), IntTensor("e", {INT64_MIN}), IntTensor("a", {0}),
                       IntTensor("t", {-2})}),
              ElementsAre(3, 1));
}

TEST(Versions, PadsMovedFromAttributesToOperands) {
  const std::string attrs = wire::IntsAttr("pads", {1, 0}) + wire::FloatAttr("value", 9);
  EXPECT_THAT(RunNode(Node("Pad", {"x"}, {"y"}, attrs), 10, {2}, {1, 2}), ElementsAre(9, 1, 2));
  EXPECT_THAT(RunNode(Node("Pad", {"x", "p", "v", "a"}, {"y"}), 18, {1, 2}, {1, 2},
                      {IntTensor("p", {0, 1}), FloatTensor("v", {}, {9}), IntTensor("a", {-1})}),
              ElementsAre(1, 2, 9));
}

TEST(Versions, SplitSizesMovedFromAttributesToOperands) {
  const std::string sizes = wire::IntsAttr("split", {1, 2});
  EXPECT_THAT(RunNode(Node("Split", {"x"}, {"a", "y"}, sizes), 11, {3}, {1, 2, 3}),
              ElementsAre(2, 3));
  EXPECT_THAT(
      RunNode(Node("Split", {"x", "s"}, {"y", "b"}), 13, {3}, {1, 2, 3}, {IntTensor("s", {1, 2})}),
      ElementsAre(1));
  EXPECT_THAT(RunNode(Node("Split", {"x"}, {"a", "y"}, wire::IntAttr("num_outputs", 2)), 18, {3},
                      {1, 2, 3}),
              ElementsAre(3));
}

TEST(Versions, UpsampleIsAnOldResize) {
  EXPECT_THAT(RunNode(Node("Upsample", {"x", "s"}, {"y"}), 9, {1, 1, 1, 2}, {1, 2},
                      {FloatTensor("s", {4}, {1, 1, 1, 2})}),
              ElementsAre(1, 1, 2, 2));
}

TEST(Versions, DropoutOfInferenceIsNothing) {
  EXPECT_THAT(RunNode(Node("Dropout", {"x"}, {"y"}), 7, {2}, {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(RunNode(Node("Dropout", {"x"}, {"y", "mask"}), 13, {2}, {1, 2}), ElementsAre(1, 2));
}

TEST(Versions, BroadcastWasAskedForBefore7) {
  const std::string attrs = wire::IntAttr("broadcast", 1) + wire::IntAttr("axis", 0);
  EXPECT_THAT(RunNode(Node("Add", {"x", "b"}, {"y"}, attrs), 6, {2, 2}, {0, 0, 0, 0},
                      {FloatTensor("b", {2}, {1, 2})}),
              ElementsAre(1, 1, 2, 2));
}

TEST(Versions, GroupScaleIsPerGroupBefore21) {
  const std::string groups = wire::IntAttr("num_groups", 1) + wire::FloatAttr("epsilon", 0);
  EXPECT_THAT(RunNode(Node("GroupNormalization", {"x", "s", "b"}, {"y"}, groups), 18, {1, 2, 1},
                      {-1, 1}, {FloatTensor("s", {1}, {2}), FloatTensor("b", {1}, {1})}),
              ElementsAre(DoubleNear(-1, 1e-6), DoubleNear(3, 1e-6)));
  EXPECT_THAT(RunNode(Node("GroupNormalization", {"x", "s", "b"}, {"y"}, groups), 21, {1, 2, 1},
                      {-1, 1}, {FloatTensor("s", {2}, {2, 3}), FloatTensor("b", {2}, {0, 1})}),
              ElementsAre(DoubleNear(-2, 1e-6), DoubleNear(4, 1e-6)));
}

wire::GraphParts OneRelu() {
  wire::GraphParts parts;
  parts.nodes = {Node("Relu", {"x"}, {"y"})};
  parts.inputs = {wire::FloatValue("x", {2})};
  parts.outputs = {wire::FloatValue("y", {2})};
  return parts;
}

TEST(Versions, OfADomainAreListedOnce) {
  const std::string again = wire::Bytes(8, wire::Opset("ai.onnx", 13));
  EXPECT_EQ(
      ImportBytes(wire::Model(OneRelu(), 18, again)).status(),
      InvalidArgument("the model lists the operator set of domain 'ai.onnx' twice, as version "
                      "18 and as version 13: keep one opset_import of it"));
  const std::string classic = wire::Bytes(8, wire::Opset("ai.onnx.ml", 3));
  EXPECT_TRUE(ImportBytes(wire::Model(OneRelu(), 18, classic)).ok());
  EXPECT_EQ(ImportBytes(wire::Model(OneRelu(), 18, classic + classic)).status(),
            InvalidArgument("the model lists the operator set of domain 'ai.onnx.ml' twice, as "
                            "version 3 and as version 3: keep one opset_import of it"));
}

TEST(Versions, OfAFunctionAreListedOnce) {
  const std::string function = wire::Bytes(25, wire::Bytes(1, "F") + wire::Bytes(10, "f") +
                                                   wire::Bytes(9, wire::Opset("", 18)) +
                                                   wire::Bytes(9, wire::Opset("", 17)));
  EXPECT_EQ(ImportBytes(wire::Model(OneRelu(), 18, function)).status(),
            InvalidArgument("function 'F' lists the operator set of domain 'ai.onnx' twice, as "
                            "version 18 and as version 17: keep one opset_import of it"));
}

}  // namespace
}  // namespace mlc::graph::onnx
