// Operators of the newest operator sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using wire::FloatTensor;
using wire::IntAttr;
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

// One head of one element, two tokens.
TEST(NewestOperators, LinearAttentionDecaysAndCorrectsItsState) {
  const auto attend = [](const std::vector<std::string>& operands, const std::string& rule) {
    return RunNode(Node("LinearAttention", operands, {"y"},
                        IntAttr("q_num_heads", 1) + IntAttr("kv_num_heads", 1) +
                            wire::TextAttr("update_rule", rule)),
                   27, {1, 2, 1}, {1, 1},
                   {FloatTensor("k", {1, 2, 1}, {2, 3}), FloatTensor("v", {1, 2, 1}, {5, 7}),
                    FloatTensor("past", {1, 1, 1, 1}, {4}),
                    FloatTensor("decay", {1, 2, 1}, {std::log(0.5F), std::log(0.5F)}),
                    FloatTensor("beta", {1, 2, 1}, {0.5F, 0.5F})});
  };
  EXPECT_THAT(attend({"x", "k", "v"}, "linear"), ElementsAre(10, 31));
  EXPECT_THAT(attend({"x", "k", "v", "past", "decay"}, "gated"),
              ElementsAre(DoubleNear(12, 1e-5), DoubleNear(27, 1e-5)));
  EXPECT_THAT(attend({"x", "k", "v", "", "", "beta"}, "delta"), ElementsAre(5, -7));
  // 2 + 0.5 * 2 * (5 - 4) = 3, then 1.5 + 0.5 * 3 * (7 - 4.5) = 5.25.
  EXPECT_THAT(attend({"x", "k", "v", "past", "decay", "beta"}, "gated_delta"),
              ElementsAre(DoubleNear(3, 1e-5), DoubleNear(5.25, 1e-5)));
}

}  // namespace
}  // namespace mlc::graph::onnx
