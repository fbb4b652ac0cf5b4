// Fourier transforms of a few elements, whose figures are plain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;
using wire::FloatTensor;
using wire::IntTensor;
using wire::Node;

constexpr double kNear = 1e-6;

TEST(Dft, OfRealAndComplexElements) {
  const std::vector<double> want = {10, 0, -2, 2, -2, 0, -2, -2};
  EXPECT_THAT(RunNode(Node("DFT", {"x"}, {"y"}), 17, {1, 4, 1}, {1, 2, 3, 4}),
              Pointwise(DoubleNear(kNear), want));
  EXPECT_THAT(RunNode(Node("DFT", {"x", "", "a"}, {"y"}, wire::IntAttr("onesided", 1)), 20,
                      {4, 1, 1}, {1, 2, 3, 4}, {IntTensor("a", {0})}),
              Pointwise(DoubleNear(kNear), std::vector<double>{10, 0, -2, 2, -2, 0}));
  EXPECT_THAT(RunNode(Node("DFT", {"x"}, {"y"}, wire::IntAttr("inverse", 1)), 17, {1, 4, 2}, want),
              Pointwise(DoubleNear(kNear), std::vector<double>{1, 0, 2, 0, 3, 0, 4, 0}));
}

TEST(Dft, HalfASpectrumIsOfRealElements) {
  const std::string back = wire::IntAttr("inverse", 1) + wire::IntAttr("onesided", 1);
  EXPECT_THAT(RunNode(Node("DFT", {"x"}, {"y"}, back), 20, {1, 3, 2}, {10, 0, -2, 2, -2, 0}),
              Pointwise(DoubleNear(kNear), std::vector<double>{1, 2, 3, 4}));
}

TEST(Dft, LengthCutsOrFills) {
  EXPECT_THAT(RunNode(Node("DFT", {"x", "n"}, {"y"}), 17, {1, 4, 1}, {1, 2, 3, 4},
                      {wire::Tensor("n", 7, {}, wire::Raw<int64_t>({2}))}),
              Pointwise(DoubleNear(kNear), std::vector<double>{3, 0, -1, 0}));
  EXPECT_THAT(RunNode(Node("DFT", {"x", "n"}, {"y"}), 17, {1, 1, 1}, {5},
                      {wire::Tensor("n", 7, {}, wire::Raw<int64_t>({2}))}),
              Pointwise(DoubleNear(kNear), std::vector<double>{5, 0, 5, 0}));
}

TEST(Stft, WeighsFramesByTheWindow) {
  EXPECT_THAT(
      RunNode(Node("STFT", {"x", "s", "w"}, {"y"}), 17, {1, 4, 1}, {1, 2, 3, 4},
              {wire::Tensor("s", 7, {}, wire::Raw<int64_t>({2})), FloatTensor("w", {2}, {1, 10})}),
      Pointwise(DoubleNear(kNear), std::vector<double>{21, 0, -19, 0, 43, 0, -37, 0}));
}

TEST(Windows, ArePeriodicUnlessAsked) {
  const auto window = [](const char* op, const std::string& attributes) {
    wire::GraphParts parts;
    parts.nodes = {Node(op, {"n"}, {"w"}, attributes), Node("Add", {"w", "x"}, {"y"})};
    parts.initializers = {wire::Tensor("n", 7, {}, wire::Raw<int64_t>({4}))};
    parts.inputs = {wire::FloatValue("x", {1})};
    parts.outputs = {wire::FloatValue("y", {})};
    return EvaluateFirst(ImportBytes(wire::Model(parts, 17)), {Floats({1}, {0})});
  };
  EXPECT_THAT(window("HannWindow", ""),
              Pointwise(DoubleNear(kNear), std::vector<double>{0, 0.5, 1, 0.5}));
  EXPECT_THAT(window("HannWindow", wire::IntAttr("periodic", 0)),
              Pointwise(DoubleNear(kNear), std::vector<double>{0, 0.75, 0.75, 0}));
  EXPECT_THAT(window("BlackmanWindow", ""),
              Pointwise(DoubleNear(kNear), std::vector<double>{0, 0.34, 1, 0.34}));
}

TEST(Dft, RefusesWhatHasNoComponents) {
  wire::GraphParts parts;
  parts.nodes = {Node("DFT", {"x"}, {"y"})};
  parts.inputs = {wire::FloatValue("x", {1, 4, 3})};
  parts.outputs = {wire::FloatValue("y", {})};
  EXPECT_THAT(ImportBytes(wire::Model(parts, 17)).status().message(),
              HasSubstr("the last dimension must be 1 or 2"));
}

}  // namespace
}  // namespace mlc::graph::onnx
