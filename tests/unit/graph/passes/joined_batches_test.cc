// Attention of batches that were joined to heads, with tokens before batches: it attends by batch,
// so that nothing has to be copied, and computes the same.
#include <gtest/gtest.h>

#include "compiler/graph/passes/pipeline.h"
#include "tests/unit/graph/passes/attention_net.h"

namespace mlc::graph {
namespace {

constexpr int64_t kB = 2, kH = 4, kS = 5, kT = 7, kD = 8, kE = 6;

// [length, batches, heads * width] as [batches * heads, length, width].
ValueId Joined(Net& n, int64_t length, int64_t width) {
  const ValueId x = n.Input({length, kB, kH * width});
  return n.Transpose(n.Reshape(x, {length, kB * kH, width}), {1, 0, 2});
}

// The mask is added to the scores; no dimensions: no mask.
Net Attention(const Dims& mask) {
  Net n;
  const ValueId q = Joined(n, kS, kD), k = Joined(n, kT, kD), v = Joined(n, kT, kE);
  ValueId scores = n.Times(n.MatMul(q, n.Transpose(k, {0, 2, 1})), 0.25);
  if (!mask.empty()) scores = n.Add(scores, n.Input(mask));
  const ValueId heads = n.MatMul(n.Softmax(scores), v);
  n.graph.outputs() = {n.Reshape(n.Transpose(heads, {1, 0, 2}), {kS * kB, kH * kE})};
  return n;
}

Dims AttentionDims(const Graph& graph) {
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == Op::kAttention) return graph[id].type.dims;
  }
  return {};
}

TEST(JoinedBatches, AreTakenApart) {
  for (const Dims& mask : {Dims{}, Dims{kS, kT}, Dims{1, kS, kT}, Dims{1, 1, kT}}) {
    const Net net = Attention(mask);
    Graph graph = net.graph;
    ASSERT_TRUE(RunPasses(graph).ok());
    EXPECT_EQ(AttentionDims(graph), (Dims{kB, kH, kS, kE})) << graph.ToText();
    ExpectSame(net, graph, 1e-5);
    // Queries, keys and values, and the result, are brought to their places by one transpose each.
    EXPECT_EQ(CountOf(graph, Op::kTranspose), 4) << graph.ToText();
  }
}

// As the other exporter of PyTorch writes them: four dimensions, of which the first two were one.
TEST(JoinedBatches, AreTakenApartBehindFourDimensions) {
  for (const Dims& mask : {Dims{}, Dims{kS, kT}, Dims{kB, 1, 1, kT}, Dims{kB, kH, kS, kT}}) {
    Net net;
    const auto heads = [&](int64_t length, int64_t width) {
      return net.Reshape(Joined(net, length, width), {kB, kH, length, width});
    };
    const ValueId q = heads(kS, kD), k = heads(kT, kD), v = heads(kT, kE);
    ValueId scores = net.Times(net.MatMul(q, net.Transpose(k, {0, 1, 3, 2})), 0.25);
    if (!mask.empty()) scores = net.Add(scores, net.Input(mask));
    const ValueId result = net.Transpose(net.MatMul(net.Softmax(scores), v), {2, 0, 1, 3});
    net.graph.outputs() = {net.Reshape(result, {kS * kB, kH * kE})};
    Graph graph = net.graph;
    ASSERT_TRUE(RunPasses(graph).ok());
    EXPECT_EQ(AttentionDims(graph), (Dims{kB, kH, kS, kE})) << graph.ToText();
    ExpectSame(net, graph, 1e-5);
    // Nothing is joined and transposed on its way.
    EXPECT_EQ(CountOf(graph, Op::kTranspose), 4) << graph.ToText();
    for (ValueId id = 0; id < graph.size(); ++id) {
      if (graph[id].op != Op::kTranspose) continue;
      EXPECT_EQ(graph[id].type.rank(), 4);
    }
  }
}

TEST(JoinedBatches, StayWhereTheMaskTellsHeadsApart) {
  const Net net = Attention({kB * kH, kS, kT});
  Graph graph = net.graph;
  ASSERT_TRUE(RunPasses(graph).ok());
  EXPECT_EQ(AttentionDims(graph), (Dims{1, kB * kH, kS, kE})) << graph.ToText();
  ExpectSame(net, graph, 1e-5);
}

}  // namespace
}  // namespace mlc::graph
