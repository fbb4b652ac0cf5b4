// Operators of the newest operator sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using wire::FloatTensor;
using wire::Node;

TEST(NewestOperators, ProductsOfBeginnings) {
  const auto products = [](const std::string& attributes) {
    return RunNode(Node("CumProd", {"x", "axis"}, {"y"}, attributes), 26, {3}, {2, 3, 5},
                   {wire::Tensor("axis", 7, {}, wire::Raw<int64_t>({0}))});
  };
  EXPECT_THAT(products(""), ElementsAre(2, 6, 30));
  EXPECT_THAT(products(wire::IntAttr("exclusive", 1)), ElementsAre(1, 2, 6));
  EXPECT_THAT(products(wire::IntAttr("reverse", 1)), ElementsAre(30, 15, 5));
  EXPECT_THAT(products(wire::IntAttr("reverse", 1) + wire::IntAttr("exclusive", 1)),
              ElementsAre(15, 5, 1));
}

TEST(NewestOperators, DeterminantsOfSeveralMatrices) {
  EXPECT_THAT(RunNode(Node("Det", {"x"}, {"y"}), 22, {2, 2, 2}, {1, 2, 3, 4, 2, 0, 0, 5}),
              ElementsAre(-2, 10));
  EXPECT_THAT(RunNode(Node("Det", {"x"}, {"y"}), 22, {3, 3}, {2, -1, 0, 4, 1, 3, 0, 5, -2}),
              ElementsAre(DoubleNear(2 * (-2 - 15) + 1 * (-8 - 0), 1e-5)));
}

TEST(NewestOperators, CausalConvolutionsSeeWhatCameBefore) {
  const std::string weights = FloatTensor("w", {1, 1, 3}, {1, 10, 100});
  EXPECT_THAT(
      RunNode(Node("CausalConvWithState", {"x", "w"}, {"y"}), 27, {1, 1, 3}, {1, 2, 3}, {weights}),
      ElementsAre(100, 210, 321));
  EXPECT_THAT(RunNode(Node("CausalConvWithState", {"x", "w", "", "past"}, {"y"}), 27, {1, 1, 3},
                      {1, 2, 3}, {weights, FloatTensor("past", {1, 1, 2}, {4, 5})}),
              ElementsAre(154, 215, 321));
}

}  // namespace
}  // namespace mlc::graph::onnx
