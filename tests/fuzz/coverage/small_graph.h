// Evaluates graphs that are cheap to evaluate, for fuzz targets.
#pragma once

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "compiler/graph/evaluate/evaluate.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::fuzz {

// The products of such a graph take milliseconds under sanitizers.
inline bool IsSmall(const graph::Graph& graph) {
  int64_t elements = 0;
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    int64_t own = 1;
    for (const int64_t dim : graph[id].type.dims) {
      if (dim > 4096) return false;
      own *= std::max<int64_t>(dim, 1);
      if (own > 4096) return false;
    }
    elements += own;
    if (elements > 16'384) return false;
  }
  return true;
}

// Evaluates a small graph on ones. What comes out has the types that the graph declares.
inline void EvaluateSmall(const graph::Graph& graph) {
  if (!IsSmall(graph)) return;
  std::vector<graph::TensorDataRef> sources;
  for (graph::ValueId id = 0; id < graph.size(); ++id) {
    const graph::Value& value = graph[id];
    if (value.op != graph::Op::kInput && value.op != graph::Op::kWeight) continue;
    const std::vector<double> ones(static_cast<size_t>(value.type.NumElements()), 1.0);
    sources.push_back(graph::WriteDoubles(value.type.dtype, value.type.dims, ones));
  }
  const Result<std::vector<graph::TensorDataRef>> outputs = graph::Evaluate(graph, sources);
  if (!outputs.ok()) return;
  MLC_CHECK(outputs->size() == graph.outputs().size());
  for (size_t i = 0; i < outputs->size(); ++i) {
    const graph::TensorType& type = graph[graph.outputs()[i]].type;
    MLC_CHECK((*outputs)[i]->dims == type.dims && (*outputs)[i]->dtype == type.dtype)
        << "output " << i << " of " << graph.ToText();
  }
}

}  // namespace mlc::fuzz
