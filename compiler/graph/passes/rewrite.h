// The rewriter of passes. It builds the graph anew from its sources to its outputs, and may replace
// each node by values built from operands that are already final. Rules therefore look only at
// operands, and one walk has the effect of repeated walks. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

class Rewriter {
 public:
  // Returns the replacement of `node`, whose operands are already ids of `out`.
  using Visit = std::function<ValueId(Rewriter&, const Value& node)>;

  // Rewrites `graph`; true if anything differs afterwards. Dead values are dropped.
  static bool Run(Graph& graph, const Visit& visit);

  Graph& out() { return out_; }
  // The number of readers that a value of `out` had in the original graph; 1 for new values.
  int Uses(ValueId id) const;

 private:
  Graph out_;
  std::vector<int> uses_;
};

// Builders. REQUIRES: the operands fit (a failed shape rule is a bug of the pass).
ValueId AddNode(Graph& graph, Value node);
ValueId AddPointwise(Graph& graph, ScalarOp op, std::vector<ValueId> operands);
ValueId AddReshape(Graph& graph, ValueId x, std::vector<int64_t> dims);  // `x` if nothing changes
ValueId AddTranspose(Graph& graph, ValueId x, std::vector<int64_t> perm);
// As AddPointwise, but the value itself if all operands are constants.
ValueId AddFolded(Graph& graph, ScalarOp op, std::vector<ValueId> operands);

// Queries.
bool IsOp(const Graph& graph, ValueId id, Op op);
bool IsScalarOp(const Graph& graph, ValueId id, ScalarOp op);
bool IsConstant(const Graph& graph, ValueId id);
// The number that all elements of a constant equal, whatever its shape.
std::optional<double> SplatOf(const Graph& graph, ValueId id);
bool SameStructure(const Graph& a, const Graph& b);
int64_t BytesOf(const TensorType& type);

}  // namespace mlc::graph
