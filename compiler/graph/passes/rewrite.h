// How passes rewrite: the graph is built anew from its sources to its outputs, and each node may be
// replaced on the way by something built from operands that are final already. Rules therefore look
// upwards only, and one walk reaches what they would reach by repetition. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace mlc::graph {

class Rewriter {
 public:
  // Gives the replacement of `node`, whose operands are ids of `out` already.
  using Visit = std::function<ValueId(Rewriter&, const Value& node)>;

  // Rewrites `graph`; true if anything differs afterwards. Dead values are dropped.
  static bool Run(Graph& graph, const Visit& visit);

  Graph& out() { return out_; }
  // Readers that a value of `out` had in the graph as it was; 1 for values made on the way.
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
