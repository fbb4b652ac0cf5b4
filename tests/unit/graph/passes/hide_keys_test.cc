#include "compiler/graph/passes/hide_keys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {
namespace {

constexpr int64_t kKeys = 6;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Attention over the keys before a length, as masks of lengths write it.
struct Masked {
  explicit Masked(double hidden, bool is_causal) {
    const TensorType type{DType::kF32, {1, 2, kKeys, 4}, {}};
    const ValueId q = graph.Input(type), k = graph.Input(type), v = graph.Input(type);
    const ValueId length = graph.Input({DType::kI32, {1}, {}});
    ValueId shown = graph.Splat(DType::kF32, 0);
    if (is_causal) {
      std::vector<double> causal;
      for (int64_t i = 0; i < kKeys * kKeys; ++i) {
        causal.push_back(i % kKeys > i / kKeys ? -kInfinity : 0);
      }
      shown = graph.Constant(WriteDoubles(DType::kF32, {kKeys, kKeys}, causal));
    }
    Value attention;
    attention.op = Op::kAttention;
    attention.type = type;
    attention.operands = {q, Select({kKeys, 1}, length, k, 0), Select({kKeys, 1}, length, v, 0),
                          Select({kKeys}, length, shown, hidden)};
    attention.attrs["scale"] = 0.5;
    graph.outputs() = {graph.Add(attention)};
  }

  ValueId Select(std::vector<int64_t> dims, ValueId length, ValueId x, double fill) {
    const ValueId places =
        graph.Constant(WriteInts(DType::kI32, dims, std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
    const ValueId before = graph.Pointwise(ScalarOp::kLess, {places, length});
    return graph.Pointwise(ScalarOp::kSelect, {before, x, graph.Splat(DType::kF32, fill)});
  }

  const Value& attention() const { return graph[graph.outputs()[0]]; }

  Graph graph;
};

std::vector<double> ResultOf(const Graph& graph, int64_t length, bool poisons) {
  std::vector<TensorDataRef> inputs;
  for (int i = 0; i < 3; ++i) {
    std::vector<double> values(2 * kKeys * 4);
    for (size_t j = 0; j < values.size(); ++j) {
      values[j] = std::sin(static_cast<double>(j * 7 + static_cast<size_t>(i)));
      const auto key = static_cast<int64_t>(j / 4) % kKeys;
      if (poisons && i > 0 && key >= length) values[j] = std::nan("");
    }
    inputs.push_back(WriteDoubles(DType::kF32, {1, 2, kKeys, 4}, values));
  }
  inputs.push_back(WriteInts(DType::kI32, {1}, std::vector<int64_t>{length}));
  const auto results = Evaluate(graph, inputs);
  EXPECT_TRUE(results.ok()) << results.status().message();
  return results.ok() ? ReadDoubles(*(*results)[0]) : std::vector<double>();
}

TEST(HideKeys, TheLengthTakesThePlaceOfMasks) {
  for (const bool is_causal : {false, true}) {
    Masked masked(-kInfinity, is_causal);
    Graph hidden = masked.graph;
    const Result<bool> changed = HideKeys(hidden);
    ASSERT_TRUE(changed.ok()) << changed.status().message();
    EXPECT_TRUE(*changed);
    ASSERT_TRUE(hidden.Verify().ok()) << hidden.Verify().message();
    for (ValueId id = 0; id < hidden.size(); ++id) {
      EXPECT_NE(hidden[id].op, Op::kPointwise) << hidden.ToText();
    }
    for (const int64_t length : {1, 4, 6}) {
      EXPECT_EQ(ResultOf(hidden, length, true), ResultOf(masked.graph, length, false)) << length;
    }
  }
}

// Values of two heads that four heads of queries share.
TEST(HideKeys, MasksOfSharedValuesGo) {
  Masked masked(-kInfinity, true);
  Graph& graph = masked.graph;
  Value attention = masked.attention();
  const TensorType whole{DType::kF32, {2, 2, kKeys, 4}, {}};
  for (size_t k = 0; k < 3; ++k) {
    Value split, wide;
    split.op = Op::kReshape;
    split.operands = {attention.operands[k]};
    split.type = {DType::kF32, {2, 1, kKeys, 4}, {}};
    wide.op = Op::kExpand;
    wide.operands = {graph.Add(split)};
    wide.type = whole;
    attention.operands[k] = graph.Add(wide);
  }
  attention.type = whole;
  graph.outputs() = {graph.Add(attention)};
  graph.Compact();
  Graph hidden = graph;
  ASSERT_TRUE(HideKeys(hidden).ok());
  ASSERT_TRUE(hidden.Verify().ok()) << hidden.Verify().message();
  for (ValueId id = 0; id < hidden.size(); ++id) {
    EXPECT_NE(hidden[id].op, Op::kPointwise) << hidden.ToText();
  }
  for (const int64_t length : {1, 4, 6}) {
    EXPECT_EQ(ResultOf(hidden, length, true), ResultOf(graph, length, false)) << length;
  }
}

TEST(HideKeys, OtherMasksStay) {
  Masked masked(-1, true);
  masked.graph.Compact();
  const Result<bool> changed = HideKeys(masked.graph);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_FALSE(*changed);
  EXPECT_EQ(masked.attention().operands.size(), 4u);
}

}  // namespace
}  // namespace mlc::graph
