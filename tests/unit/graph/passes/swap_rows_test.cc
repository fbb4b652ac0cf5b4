// Rows that are swapped before a product whose result only attention reads: the result is swapped
// instead, so that nothing is copied, and computes the same.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/graph/passes/pipeline.h"
#include "tests/unit/graph/passes/attention_net.h"

namespace mlc::graph {
namespace {

struct Sizes {
  int64_t batches = 2, heads = 3, queries = 5, keys = 7, depth = 4;
  int64_t Width() const { return heads * depth; }
};
constexpr Sizes kSizes;

ValueId SwappedInput(Net& n, int64_t length, const Sizes& s = kSizes) {
  return n.Transpose(n.Input({s.batches, length, s.Width()}), {1, 0, 2});
}

// [length, batches, width] times a matrix, and a bias.
ValueId Projected(Net& n, ValueId x, int64_t width) {
  const int64_t depth = n.graph[x].type.dims.back();
  std::vector<double> matrix, bias;
  for (int64_t i = 0; i < depth * width; ++i) matrix.push_back(0.25 * (i * 7 % 5) - 0.5);
  for (int64_t i = 0; i < width; ++i) bias.push_back(0.125 * static_cast<double>(i % 9));
  const ValueId product = n.MatMul(x, n.Constant({depth, width}, matrix));
  return n.Add(product, n.Constant({width}, bias));
}

// Part `i` of [length, batches, 3 * width], as the exporters of PyTorch take it.
ValueId PartOfJoined(Net& n, ValueId joined, int64_t i, const Sizes& s = kSizes) {
  const ValueId parts = n.Reshape(joined, {1, s.queries, s.batches, 3, s.Width()});
  const ValueId first =
      n.Reshape(n.Transpose(parts, {3, 1, 2, 0, 4}), {3, s.queries, s.batches, s.Width()});
  return n.Part(first, 0, i, 1);
}

// As torch.onnx.export writes scaled_dot_product_attention of [length, batches, width]; `flat`:
// with batches and heads in one dimension.
ValueId Attend(Net& n, ValueId q, ValueId k, ValueId v, int64_t keys, bool flat,
               ValueId mask = kNoValue, const Sizes& s = kSizes) {
  const auto heads = [&](ValueId x, int64_t length) {
    const ValueId joined =
        n.Transpose(n.Reshape(x, {length, s.batches * s.heads, s.depth}), {1, 0, 2});
    return flat ? joined : n.Reshape(joined, {s.batches, s.heads, length, s.depth});
  };
  const ValueId query = heads(q, s.queries), key = heads(k, keys), value = heads(v, keys);
  const Dims turn = flat ? Dims{0, 2, 1} : Dims{0, 1, 3, 2};
  ValueId scores = n.Times(n.MatMul(query, n.Transpose(key, turn)), 0.5);
  if (mask != kNoValue) scores = n.Add(scores, mask);
  const ValueId result = n.MatMul(n.Softmax(scores), value);
  return n.Transpose(result, flat ? Dims{1, 0, 2} : Dims{2, 0, 1, 3});
}

ValueId SelfAttention(Net& n, ValueId joined, bool flat, ValueId mask = kNoValue,
                      const Sizes& s = kSizes) {
  return Attend(n, PartOfJoined(n, joined, 0, s), PartOfJoined(n, joined, 1, s),
                PartOfJoined(n, joined, 2, s), s.queries, flat, mask, s);
}

// Whether the rows of a product that has constant weights are transposed.
bool SwapsRows(const Graph& graph) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op != Op::kMatMul) continue;
    const Value& rows = graph[graph[id].operands[0]];
    if (rows.op == Op::kReshape && graph[rows.operands[0]].op == Op::kTranspose) return true;
  }
  return false;
}

void ExpectSwaps(const Net& net, bool swaps) {
  Graph graph = net.graph;
  ASSERT_TRUE(RunPasses(graph).ok());
  EXPECT_EQ(CountOf(graph, Op::kAttention), 1);
  EXPECT_EQ(SwapsRows(graph), swaps) << graph.ToText();
  ExpectSame(net, graph, 1e-5);
}

TEST(SwapRows, AreSwappedBehindTheProductOfSelfAttention) {
  // Also with dimensions of equal size, which must not be taken for each other.
  for (const Sizes& s :
       {kSizes, Sizes{3, 3, 3, 3, 3}, Sizes{4, 2, 4, 4, 4}, Sizes{2, 1, 6, 6, 2}}) {
    for (const bool flat : {false, true}) {
      for (const bool masked : {false, true}) {
        Net n;
        const ValueId mask = masked ? n.Input({s.queries, s.queries}) : kNoValue;
        const ValueId joined = Projected(n, SwappedInput(n, s.queries, s), 3 * s.Width());
        n.graph.outputs() = {SelfAttention(n, joined, flat, mask, s)};
        ExpectSwaps(n, false);
      }
    }
  }
}

TEST(SwapRows, AreSwappedBehindProductsOfOneValue) {
  Net n;
  const ValueId q = SwappedInput(n, kSizes.queries), memory = SwappedInput(n, kSizes.keys);
  n.graph.outputs() = {Attend(n, Projected(n, q, kSizes.Width()),
                              Projected(n, memory, kSizes.Width()),
                              Projected(n, memory, kSizes.Width()), kSizes.keys, false)};
  ExpectSwaps(n, false);
  // Keys and values are still one product.
  Graph graph = n.graph;
  ASSERT_TRUE(RunPasses(graph).ok());
  EXPECT_EQ(CountOf(graph, Op::kMatMul), 2) << graph.ToText();
}

TEST(SwapRows, StayIfAnythingElseReadsThem) {
  Net n;
  const ValueId x = SwappedInput(n, kSizes.queries);
  const ValueId joined = Projected(n, x, 3 * kSizes.Width());
  const ValueId other = n.Tanh(Projected(n, x, kSizes.Width()));
  n.graph.outputs() = {SelfAttention(n, joined, false), other};
  ExpectSwaps(n, true);
}

TEST(SwapRows, StayIfTheProductIsAnOutput) {
  Net n;
  const ValueId joined = Projected(n, SwappedInput(n, kSizes.queries), 3 * kSizes.Width());
  n.graph.outputs() = {SelfAttention(n, joined, false), joined};
  ExpectSwaps(n, true);
}

TEST(SwapRows, StayIfTheResultIsComputedWith) {
  Net n;
  const ValueId joined = Projected(n, SwappedInput(n, kSizes.queries), 3 * kSizes.Width());
  const ValueId q = n.Tanh(PartOfJoined(n, joined, 0));
  n.graph.outputs() = {
      Attend(n, q, PartOfJoined(n, joined, 1), PartOfJoined(n, joined, 2), kSizes.queries, false)};
  ExpectSwaps(n, true);
}

TEST(SwapRows, StayIfAttentionReadsBatchesAndHeadsAsOne) {
  Net n;
  const ValueId mask = n.Input({kSizes.batches * kSizes.heads, kSizes.queries, kSizes.queries});
  const ValueId joined = Projected(n, SwappedInput(n, kSizes.queries), 3 * kSizes.Width());
  n.graph.outputs() = {SelfAttention(n, joined, true, mask)};
  ExpectSwaps(n, true);
}

}  // namespace
}  // namespace mlc::graph
