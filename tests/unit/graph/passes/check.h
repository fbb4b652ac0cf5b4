// Helpers of the pass tests: a pass is a row of text before and text after.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

// Random values for the sources: floats in [-1, 1), integers in [0, 3].
inline std::vector<TensorDataRef> RandomSources(const Graph& graph, uint64_t seed) {
  Rng rng(seed);
  std::vector<TensorDataRef> sources;
  for (ValueId id = 0; id < graph.size(); ++id) {
    const Value& node = graph[id];
    if (node.op != Op::kInput && node.op != Op::kWeight) continue;
    std::vector<double> values(static_cast<size_t>(node.type.NumElements()));
    for (double& value : values) {
      value = IsFloat(node.type.dtype) ? 2 * rng.Uniform() - 1 : static_cast<double>(rng.Below(4));
    }
    sources.push_back(WriteDoubles(node.type.dtype, node.type.dims, values));
  }
  return sources;
}

// Largest |difference| over the largest |reference|, over all outputs.
inline double Difference(const Graph& a, const Graph& b, uint64_t seed) {
  const Result<std::vector<TensorDataRef>> x = Evaluate(a, RandomSources(a, seed));
  const Result<std::vector<TensorDataRef>> y = Evaluate(b, RandomSources(b, seed));
  if (!x.ok() || !y.ok()) {
    ADD_FAILURE() << x.status().message() << " / " << y.status().message();
    return 1;
  }
  double worst = 0, largest = 1e-30;
  for (size_t i = 0; i < x->size(); ++i) {
    const std::vector<double> p = ReadDoubles(*(*x)[i]), q = ReadDoubles(*(*y)[i]);
    EXPECT_EQ((*x)[i]->dims, (*y)[i]->dims);
    EXPECT_EQ((*x)[i]->dtype, (*y)[i]->dtype);
    for (size_t j = 0; j < p.size() && j < q.size(); ++j) {
      if (p[j] != p[j] && q[j] != q[j]) continue;
      worst = std::max(worst, p[j] == q[j] ? 0.0 : std::abs(p[j] - q[j]));
      largest = std::max(largest, std::abs(p[j]));
    }
  }
  return worst / largest;
}

// Runs the pass on the body `before` and compares with the body `after`; both compute the same.
template <typename Run>
void Check(Run run, const std::string& before, const std::string& after) {
  const Result<Graph> from = Graph::Parse("graph v1 { " + before + " }");
  ASSERT_TRUE(from.ok()) << from.status().message();
  const Result<Graph> expected = Graph::Parse("graph v1 { " + after + " }");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  Graph graph = *from;
  const Result<bool> changed = run(graph);
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  graph.Compact();
  EXPECT_EQ(*changed, before != after);
  EXPECT_EQ(graph.ToText(), expected->ToText());
  const Status valid = graph.Verify();
  EXPECT_TRUE(valid.ok()) << valid.message();
  EXPECT_LT(Difference(*from, graph, 7), 1e-6);
}

}  // namespace mlc::graph
