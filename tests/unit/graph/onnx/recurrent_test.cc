// LSTM, GRU and RNN against their formulas, one element at a time; sequences that end early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/graph/onnx/imported.h"

namespace mlc::graph::onnx {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;
using wire::FloatTensor;
using wire::Node;

// With state and input of size one, weights are numbers.
struct Numbers {
  std::vector<float> w;  // one a gate
  std::vector<float> r;
  std::vector<float> b;  // of the input, then of the state
};

const Numbers kLstm = {
    {0.5F, -1, 0.75F, 2}, {1, 0.25F, -0.5F, 0.5F}, {0.1F, 0.2F, 0.3F, 0.4F, -0.1F, 0, 0.1F, 0.2F}};
const Numbers kGru = {{0.5F, -1, 2}, {1, 0.25F, 0.5F}, {0.1F, 0.2F, 0.3F, -0.1F, 0, 0.7F}};

std::vector<std::string> Weights(const Numbers& n) {
  const auto gates = static_cast<int64_t>(n.w.size());
  return {FloatTensor("w", {1, gates, 1}, n.w), FloatTensor("r", {1, gates, 1}, n.r),
          FloatTensor("b", {1, 2 * gates}, n.b)};
}

std::vector<double> RunCell(const char* op, const Numbers& numbers, const std::string& attributes,
                            const std::vector<double>& x) {
  const std::string node =
      Node(op, {"x", "w", "r", "b"}, {"y"}, wire::IntAttr("hidden_size", 1) + attributes);
  return RunNode(node, 14, {static_cast<int64_t>(x.size()), 1, 1}, x, Weights(numbers));
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What gate `i` adds up, in doubles.
double Part(const Numbers& n, size_t i, double x, double h) {
  return n.w[i] * x + n.r[i] * h + n.b[i] + n.b[n.w.size() + i];
}

std::vector<double> Lstm(const std::vector<double>& x) {
  std::vector<double> y;
  double h = 0, c = 0;
  for (const double v : x) {
    const double in = Sigmoid(Part(kLstm, 0, v, h));
    const double out = Sigmoid(Part(kLstm, 1, v, h));
    const double forget = Sigmoid(Part(kLstm, 2, v, h));
    c = forget * c + in * std::tanh(Part(kLstm, 3, v, h));
    h = out * std::tanh(c);
    y.push_back(h);
  }
  return y;
}

std::vector<double> Gru(const std::vector<double>& x, bool linear_before_reset) {
  std::vector<double> y;
  double h = 0;
  for (const double v : x) {
    const double update = Sigmoid(Part(kGru, 0, v, h));
    const double reset = Sigmoid(Part(kGru, 1, v, h));
    const double recalled = linear_before_reset ? reset * (kGru.r[2] * h + kGru.b[5])
                                                : kGru.r[2] * (reset * h) + kGru.b[5];
    const double candidate = std::tanh(kGru.w[2] * v + kGru.b[2] + recalled);
    h = (1 - update) * candidate + update * h;
    y.push_back(h);
  }
  return y;
}

TEST(Recurrent, LstmFollowsItsFormula) {
  const std::vector<double> x = {0.5, -1, 2, 0.25};
  EXPECT_THAT(RunCell("LSTM", kLstm, "", x), Pointwise(DoubleNear(1e-6), Lstm(x)));
}

TEST(Recurrent, GruResetsBeforeOrAfterTheProduct) {
  const std::vector<double> x = {0.5, -1, 2, 0.25};
  EXPECT_THAT(RunCell("GRU", kGru, "", x), Pointwise(DoubleNear(1e-6), Gru(x, false)));
  EXPECT_THAT(RunCell("GRU", kGru, wire::IntAttr("linear_before_reset", 1), x),
              Pointwise(DoubleNear(1e-6), Gru(x, true)));
}

TEST(Recurrent, WalksBackwards) {
  const std::vector<double> x = {0.5, -1, 2};
  std::vector<double> want = Lstm({2, -1, 0.5});
  std::reverse(want.begin(), want.end());
  EXPECT_THAT(RunCell("LSTM", kLstm, wire::TextAttr("direction", "reverse"), x),
              Pointwise(DoubleNear(1e-6), want));
}

// Weights in bytes that stand for kLstm's, transposed: one scale for all of `w`, one an output for
// `r`. What is left is the rounding of the sequence and of the state to 8 bits.
TEST(Recurrent, QuantisedLstmIsOneOfItsWeights) {
  const std::vector<std::string> operands = {
      wire::Tensor("w", 3, {1, 1, 4}, wire::Raw(std::vector<int8_t>{2, -4, 3, 8})),
      wire::Tensor("r", 2, {1, 1, 4}, wire::Raw(std::vector<uint8_t>{129, 129, 127, 129})),
      FloatTensor("b", {1, 8}, kLstm.b),
      FloatTensor("ws", {1}, {0.25F}),
      wire::Tensor("wz", 3, {1}, wire::Raw(std::vector<int8_t>{0})),
      FloatTensor("rs", {1, 4}, {1, 0.25F, 0.5F, 0.5F}),
      wire::Tensor("rz", 2, {1, 4}, wire::Raw(std::vector<uint8_t>(4, 128)))};
  const std::vector<double> x = {0.5, -1, 2, 0.25};
  const auto node = [](const std::string& zeros) {
    return Node("DynamicQuantizeLSTM",
                {"x", "w", "r", "b", "", "", "", "", "ws", zeros, "rs", "rz"}, {"y"},
                wire::IntAttr("hidden_size", 1), "com.microsoft");
  };
  EXPECT_THAT(RunNode(node("wz"), 14, {4, 1, 1}, x, operands),
              Pointwise(DoubleNear(0.02), Lstm(x)));
  wire::GraphParts parts;
  parts.nodes = {node("b")};
  parts.initializers = operands;
  parts.inputs = {wire::FloatValue("x", {4, 1, 1})};
  parts.outputs = {wire::FloatValue("y", {})};
  EXPECT_THAT(ImportBytes(wire::Model(parts, 14)).status().message(),
              HasSubstr("a scale or a zero point does not fit the weights"));
}

// Two sequences of lengths 1 and 3, walked both ways; an RNN of identity weights adds up.
TEST(Recurrent, EndedSequencesKeepTheirStateAndGiveZeros) {
  wire::GraphParts parts;
  parts.nodes = {
      Node("RNN", {"x", "w", "r", "", "n"}, {"y", "h"},
           wire::IntAttr("hidden_size", 1) + wire::TextAttr("direction", "bidirectional") +
               wire::TextsAttr("activations", {"Affine", "Affine"})),
      Node("Concat", {"yf", "hf"}, {"z"}, wire::IntAttr("axis", 0))};
  parts.nodes.insert(
      parts.nodes.begin() + 1,
      {Node("Flatten", {"y"}, {"ya"}, wire::IntAttr("axis", 0)), Node("Squeeze", {"ya"}, {"yf"}),
       Node("Flatten", {"h"}, {"ha"}, wire::IntAttr("axis", 0)), Node("Squeeze", {"ha"}, {"hf"})});
  parts.initializers = {FloatTensor("w", {2, 1, 1}, {1, 1}), FloatTensor("r", {2, 1, 1}, {1, 1}),
                        wire::Tensor("n", 6, {2}, wire::Raw(std::vector<int32_t>{1, 3}))};
  parts.inputs = {wire::FloatValue("x", {3, 2, 1})};
  parts.outputs = {wire::FloatValue("z", {})};
  const std::vector<double> z = EvaluateFirst(ImportBytes(wire::Model(parts, 14)),
                                              {Floats({3, 2, 1}, {1, 10, 2, 20, 4, 40})});
  // Steps of [forward, backward] of two sequences each, then the last states.
  EXPECT_THAT(z, ElementsAre(1, 10, 1, 70, 0, 30, 0, 60, 0, 70, 0, 40, 1, 70, 1, 70));
}

TEST(Recurrent, RefusesWhatDoesNotFit) {
  const auto import = [](int64_t steps, const std::string& attributes, int64_t hidden) {
    wire::GraphParts parts;
    parts.nodes = {Node("GRU", {"x", "w", "r"}, {"y"}, attributes)};
    parts.initializers = {FloatTensor("w", {1, 3, 1}, {1, 1, 1}),
                          FloatTensor("r", {1, 3, hidden}, std::vector<float>(3 * hidden))};
    parts.inputs = {wire::FloatValue("x", {steps, 1, 1})};
    parts.outputs = {wire::FloatValue("y", {})};
    return ImportBytes(wire::Model(parts, 14)).status();
  };
  const Status status = import(5000, "", 1);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("a sequence of more than 4096 steps is not supported"));
  EXPECT_THAT(import(2, "", 2).message(), HasSubstr("do not fit the sequence and the state"));
  EXPECT_THAT(import(2, wire::TextAttr("direction", "sideways"), 1).message(),
              HasSubstr("the direction must be forward, reverse or bidirectional"));
  EXPECT_THAT(import(2, wire::TextsAttr("activations", {"Tanh", "Snake"}), 1).message(),
              HasSubstr("there is no activation 'Snake'"));
}

}  // namespace
}  // namespace mlc::graph::onnx
