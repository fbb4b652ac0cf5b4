// Attention of the domain com.microsoft by small numbers: queries of zero weigh the keys that they
// see alike, so that a result is a mean of values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using wire::FloatAttr;
using wire::FloatTensor;
using wire::IntAttr;

std::string Fused(std::string_view op, const std::vector<std::string>& operands,
                  const std::string& attributes, const std::vector<std::string>& results = {"y"}) {
  return wire::Node(op, operands, results, attributes, "com.microsoft");
}

std::string Int32s(std::string_view name, const std::vector<int64_t>& dims,
                   const std::vector<int32_t>& values) {
  return wire::Tensor(name, 6, dims, wire::Raw(values));
}

const std::string kOneHead = IntAttr("num_heads", 1) + IntAttr("kv_num_heads", 1);

// Three tokens of one head of one element, as the first ones of a sequence.
std::vector<double> Prompt(const std::string& attributes, const std::vector<std::string>& more = {},
                           const std::vector<std::string>& operands = {}) {
  std::vector<std::string> all = {"q", "q", "x", "", "", "l", "t"};
  all.insert(all.end(), operands.begin(), operands.end());
  std::vector<std::string> constants = {FloatTensor("q", {1, 3, 1}, {0, 0, 0}),
                                        Int32s("l", {1}, {2}), Int32s("t", {}, {3})};
  constants.insert(constants.end(), more.begin(), more.end());
  return RunNode(Fused("GroupQueryAttention", all, kOneHead + attributes), 21, {1, 3, 1}, {1, 3, 8},
                 constants);
}

TEST(GroupQueryAttention, SeesEarlierTokens) {
  EXPECT_THAT(Prompt(""), ElementsAre(1, 2, 4));
  EXPECT_THAT(Prompt(IntAttr("local_window_size", 2)), ElementsAre(1, 2, 5.5));
  EXPECT_THAT(Prompt(FloatAttr("softcap", 3)),
              Pointwise(DoubleNear(1e-6), std::vector<double>{1, 2, 4}));
}

// A sink takes the weight of one more key and gives nothing.
TEST(GroupQueryAttention, LosesWeightToASink) {
  const std::vector<double> expected = {1. / 2, 4. / 3, 12. / 4};
  EXPECT_THAT(Prompt(IntAttr("smooth_softmax", 1)), Pointwise(DoubleNear(1e-6), expected));
  EXPECT_THAT(Prompt("", {FloatTensor("k", {1}, {0})}, {"", "", "", "", "k"}),
              Pointwise(DoubleNear(1e-6), expected));
}

// One token after two cached ones, of which `length` count with the new one.
std::vector<double> Step(int32_t length, const std::string& result) {
  std::vector<std::string> results = {"a", "k", "v"};
  results[result == "y" ? 0 : 2] = "y";
  return RunNode(
      Fused("GroupQueryAttention", {"q", "q", "x", "pk", "pv", "l", "t"}, kOneHead, results), 21,
      {1, 1, 1}, {8},
      {FloatTensor("q", {1, 1, 1}, {0}), FloatTensor("pk", {1, 1, 2, 1}, {0, 0}),
       FloatTensor("pv", {1, 1, 2, 1}, {1, 3}), Int32s("l", {1}, {length - 1}),
       Int32s("t", {}, {3})});
}

TEST(GroupQueryAttention, WritesTheTokenBehindThoseThatCount) {
  EXPECT_THAT(Step(3, "y"), ElementsAre(4));
  EXPECT_THAT(Step(3, "v"), ElementsAre(1, 3, 8));
  EXPECT_THAT(Step(2, "y"), ElementsAre(4.5));
  EXPECT_THAT(Step(2, "v"), ElementsAre(1, 8, 0));
}

// The length may come at run time: one step serves all positions.
TEST(GroupQueryAttention, LearnsTheLengthAtRunTime) {
  wire::GraphParts parts;
  parts.nodes = {
      Fused("GroupQueryAttention", {"q", "q", "x", "pk", "pv", "l", "t"}, kOneHead, {"y"})};
  parts.initializers = {FloatTensor("q", {1, 1, 1}, {0}),
                        FloatTensor("pk", {1, 1, 4, 1}, {0, 0, 0, 0}),
                        FloatTensor("pv", {1, 1, 4, 1}, {1, 3, 5, 7}), Int32s("t", {}, {4})};
  parts.inputs = {wire::FloatValue("x", {1, 1, 1}), wire::ValueInfo("l", 6, wire::Dim(1))};
  parts.outputs = {wire::FloatValue("y", {})};
  const Result<Graph> graph = ImportBytes(wire::Model(parts, 21));
  const auto at = [&](double last) {
    return EvaluateFirst(graph, {Floats({1, 1, 1}, {8}), WriteDoubles(DType::kI32, {1}, {{last}})});
  };
  EXPECT_THAT(at(1), ElementsAre(4.5));
  EXPECT_THAT(at(2), ElementsAre(4));
  EXPECT_THAT(at(3), ElementsAre((1 + 3 + 5 + 8) / 4.));
}

// A quarter turn of the pair at position 1: (a, b) becomes (-b, a).
TEST(GroupQueryAttention, TurnsQueriesAndKeysByTheirPosition) {
  const std::vector<std::string> constants = {FloatTensor("c", {2, 1}, {1, 0}),
                                              FloatTensor("s", {2, 1}, {0, 1}),
                                              Int32s("l", {1}, {1}), Int32s("t", {}, {2})};
  wire::GraphParts parts;
  parts.nodes = {Fused("GroupQueryAttention", {"x", "x", "x", "", "", "l", "t", "c", "s"},
                       kOneHead + IntAttr("do_rotary", 1), {"a", "y"})};
  parts.initializers = constants;
  parts.inputs = {wire::FloatValue("x", {1, 2, 2})};
  parts.outputs = {wire::FloatValue("y", {})};
  EXPECT_THAT(EvaluateFirst(ImportBytes(wire::Model(parts, 21)), {Floats({1, 2, 2}, {1, 2, 3, 4})}),
              ElementsAre(1, 2, -4, 3));
}

Status RefusalOf(const std::string& node, const std::vector<std::string>& constants,
                 const std::vector<int64_t>& dims = {1, 3, 4}) {
  wire::GraphParts parts;
  parts.nodes = {node};
  parts.initializers = constants;
  parts.inputs = {wire::FloatValue("x", dims), wire::ValueInfo("n", 6, "")};
  parts.outputs = {wire::FloatValue("y", {})};
  return ImportBytes(wire::Model(parts, 21)).status();
}

struct Refused {
  std::vector<std::string> operands;
  std::string attributes;
  const char* message;
};

TEST(GroupQueryAttention, RefusesWhatItCannotLower) {
  const std::vector<std::string> constants = {Int32s("l", {1}, {2}),
                                              Int32s("l2", {2}, {2, 2}),
                                              Int32s("t", {}, {3}),
                                              Int32s("t5", {}, {5}),
                                              Int32s("t2", {}, {2}),
                                              FloatTensor("p", {1, 2, 1, 2}, {0, 0, 0, 0}),
                                              FloatTensor("s", {1}, {1}),
                                              FloatTensor("c", {2, 1}, {1, 1}),
                                              FloatTensor("w", {3, 2}, {1, 1, 1, 1, 1, 1})};
  const std::string heads = IntAttr("num_heads", 2) + IntAttr("kv_num_heads", 2);
  const std::vector<std::string> usual = {"x", "x", "x", "", "", "l", "t"};
  const Refused cases[] = {
      {{"x", "x", "x", "", "", "l", "n"}, heads, "operand 6 depends on the model's inputs"},
      {usual, IntAttr("num_heads", 2), "attribute 'kv_num_heads' is missing"},
      {usual, IntAttr("num_heads", 3) + IntAttr("kv_num_heads", 2), "kv_num_heads=2 does not"},
      {usual, IntAttr("num_heads", 3) + IntAttr("kv_num_heads", 3),
       "a query of 4 elements does not hold 3 heads"},
      {usual, IntAttr("num_heads", INT64_MAX) + IntAttr("kv_num_heads", 1), "does not divide"},
      {{"x", "x", "x", "p", "", "l", "t"}, heads, "a past key needs a past value"},
      {{"x", "x", "", "", "", "l", "t"}, heads, "a key needs a value"},
      {{"x", "x", "x", "p", "x", "l", "t"}, heads, "past keys and values must be [batch"},
      {{"x", "x", "x", "p", "p", "l", "t5"}, heads, "the cache holds 1 positions, too few"},
      {{"x", "x", "x", "", "", "l", "t2"}, heads, "is less than the 3 tokens of the query"},
      {{"x", "x", "x", "", "", "l2", "t"}, heads, "seqlens_k must have one entry a batch"},
      {{"x", "x", "x", "", "", "l", "t", "c", "c"},
       heads + IntAttr("do_rotary", 1),
       "angles for 2 positions, fewer than the query has tokens"},
      {{"x", "x", "x", "", "", "l", "t", "w", "w"},
       heads + IntAttr("do_rotary", 1),
       "the angles of 2 pairs do not fit a head of 2 elements"},
      {{"x", "x", "x", "", "", "l", "t", "", "", "", "", "", "s"}, heads, "a quantised cache"},
      {usual, heads + wire::TextAttr("k_quant_type", "PER_TENSOR"), "a quantised cache"},
      {usual, heads + IntAttr("sliding_window_cache", 1), "a cache of the window alone"},
      {usual, heads + IntAttr("qk_output", 1), "the scores as a result"},
      {{"x", "x", "x", "", "", "l", "t", "", "", "", "", "s"}, heads, "head_sink must have one"},
      {{"x", "x", "x", "", "", "l", "t", "", "", "", "x"}, heads, "the bias of the scores must"},
  };
  for (const Refused& refused : cases) {
    SCOPED_TRACE(refused.message);
    const Status status =
        RefusalOf(Fused("GroupQueryAttention", refused.operands, refused.attributes), constants);
    EXPECT_THAT(status.message(), HasSubstr(refused.message));
    EXPECT_THAT(status.message(), HasSubstr("node of 'y' (GroupQueryAttention)"));
  }
}

TEST(FusedAttention, JoinsAPastState) {
  // Weights make values of x, and queries and keys of zero; the past has the value 5.
  const std::vector<std::string> constants = {FloatTensor("w", {1, 3}, {0, 0, 1}),
                                              FloatTensor("p", {2, 1, 1, 1, 1}, {0, 5})};
  const std::string heads = IntAttr("num_heads", 1);
  EXPECT_THAT(
      RunNode(Fused("Attention", {"x", "w", "", "", "p"}, heads), 21, {1, 2, 1}, {1, 3}, constants),
      ElementsAre(3, 3));
  EXPECT_THAT(
      RunNode(Fused("Attention", {"x", "w", "", "", "p"}, heads + IntAttr("unidirectional", 1)), 21,
              {1, 2, 1}, {1, 3}, constants),
      ElementsAre(3, 3));
  EXPECT_THAT(RunNode(Fused("Attention", {"x", "w", "", "", "p"}, heads, {"a", "y"}), 21, {1, 2, 1},
                      {1, 3}, constants),
              ElementsAre(0, 0, 0, 5, 1, 3));
}

// Where the mask fills all keys that a query may see, they count alike, but no later key does.
TEST(FusedAttention, FillsMaskedKeysAndHidesLaterOnes) {
  const std::vector<std::string> constants = {FloatTensor("w", {1, 3}, {0, 0, 1}),
                                              Int32s("m", {1, 3}, {0, 0, 1})};
  EXPECT_THAT(RunNode(Fused("Attention", {"x", "w", "", "m"},
                            IntAttr("num_heads", 1) + IntAttr("unidirectional", 1)),
                      21, {1, 3, 1}, {1, 3, 8}, constants),
              ElementsAre(1, 2, 8));
}

TEST(FusedAttention, TakesPackedOperands) {
  // [batch, sequence, heads, parts, size]: zero queries and keys, and a value.
  EXPECT_THAT(RunNode(Fused("MultiHeadAttention", {"x"}, IntAttr("num_heads", 1)), 21,
                      {1, 2, 1, 3, 1}, {0, 0, 2, 0, 0, 4}),
              ElementsAre(3, 3));
  EXPECT_THAT(RunNode(Fused("MultiHeadAttention", {"q", "x"}, IntAttr("num_heads", 1)), 21,
                      {1, 2, 1, 2, 1}, {0, 2, 0, 4}, {FloatTensor("q", {1, 1, 1}, {0})}),
              ElementsAre(3));
}

TEST(FusedAttention, RefusesWhatItCannotLower) {
  const std::vector<std::string> constants = {FloatTensor("p", {2, 1, 1, 1, 1}, {0, 0}),
                                              FloatTensor("w", {4, 3}, std::vector<float>(12, 1)),
                                              Int32s("m", {7}, std::vector<int32_t>(7, 1)),
                                              Int32s("n1", {1}, {1})};
  const std::string one = IntAttr("num_heads", 1);
  const auto refusal = [&](std::string_view op, const std::vector<std::string>& operands,
                           const std::string& attributes) {
    return RefusalOf(Fused(op, operands, attributes), constants).message();
  };
  EXPECT_THAT(refusal("MultiHeadAttention", {"x"}, one), HasSubstr("operand 0 must be [batch"));
  EXPECT_THAT(refusal("MultiHeadAttention", {"x", "x"}, one),
              HasSubstr("operand 1 must be [batch"));
  EXPECT_THAT(refusal("MultiHeadAttention", {"x", "x", "x", "", "", "", "p"}, one),
              HasSubstr("a past key needs a past value"));
  EXPECT_THAT(refusal("MultiHeadAttention", {"x", "x", "x", "", "", "", "", "", "n1"}, one),
              HasSubstr("a shared cache is not supported"));
  EXPECT_THAT(refusal("MultiHeadAttention", {"x", "x", "x", "", "m"}, one),
              HasSubstr("a mask of this shape is not supported"));
  EXPECT_THAT(refusal("Attention", {"x", "w", "", "", "w"}, one),
              HasSubstr("the past state must be [2, batch, heads, positions, head size]"));
  EXPECT_THAT(refusal("Attention", {"x", "w"}, one + IntAttr("do_rotary", 1)),
              HasSubstr("a rotary embedding inside is not supported"));
  EXPECT_THAT(refusal("RotaryEmbedding", {"x", "n1", "w", "w"}, FloatAttr("scale", 2)),
              HasSubstr("a scale other than 1 is not supported"));
  EXPECT_THAT(refusal("RotaryEmbedding", {"x", "m", "w", "w"}, IntAttr("num_heads", 1)),
              HasSubstr("operand 1 must hold the first position, or a position for each"));
}

}  // namespace
}  // namespace mlc::graph::onnx
