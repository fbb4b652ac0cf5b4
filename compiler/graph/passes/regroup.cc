#include "compiler/graph/passes/regroup.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// One run of dimensions on each side that hold the same elements and cannot be cut further.
struct Run {
  size_t from_begin, from_end, to_begin, to_end;
};

std::vector<Run> RunsOf(const Dims& from, const Dims& to) {
  std::vector<Run> runs;
  size_t i = 0, o = 0;
  while (i < from.size() && o < to.size()) {
    Run run{i, i + 1, o, o + 1};
    int64_t left = from[i++], right = to[o++];
    while (left != right) {
      MLC_CHECK(left < right ? i < from.size() : o < to.size()) << "shapes of unequal size";
      if (left < right) {
        left *= from[i++];
      } else {
        right *= to[o++];
      }
    }
    run.from_end = i;
    run.to_end = o;
    runs.push_back(run);
  }
  if (runs.empty()) runs.push_back({0, 0, 0, 0});
  // What is left has size one.
  runs.back().from_end = from.size();
  runs.back().to_end = to.size();
  return runs;
}

}  // namespace

ValueId SimplifiedReshape(Graph& graph, ValueId x, Dims dims) {
  Value node;
  node.op = Op::kReshape;
  node.operands = {x};
  node.type = {graph[x].type.dtype, std::move(dims), {}};
  return AddSimplified(graph, std::move(node));
}

ValueId SimplifiedTranspose(Graph& graph, ValueId x, Dims perm) {
  Value node;
  node.op = Op::kTranspose;
  node.operands = {x};
  node.attrs["perm"] = std::move(perm);
  return AddSimplified(graph, std::move(node));
}

ValueId SimplifiedExpand(Graph& graph, ValueId x, Dims dims) {
  Value node;
  node.op = Op::kExpand;
  node.operands = {x};
  node.type = {graph[x].type.dtype, std::move(dims), {}};
  return AddSimplified(graph, std::move(node));
}

ValueId SimplifiedPointwise(Graph& graph, ScalarOp op, std::vector<ValueId> operands) {
  Value node;
  node.op = Op::kPointwise;
  node.scalar = op;
  node.operands = std::move(operands);
  return AddSimplified(graph, std::move(node));
}

ValueId SimplifiedMax(Graph& graph, ValueId x) {
  Value node;
  node.op = Op::kReduce;
  node.operands = {x};
  node.attrs["kind"] = std::string("max");
  node.attrs["axes"] = Dims{graph[x].type.rank() - 1};
  node.attrs["keepdims"] = int64_t{1};
  return AddSimplified(graph, std::move(node));
}

ValueId PadRank(Graph& graph, ValueId x, size_t rank) {
  Dims dims = graph[x].type.dims;
  if (dims.size() >= rank) return x;
  dims.insert(dims.begin(), rank - dims.size(), 1);
  return SimplifiedReshape(graph, x, std::move(dims));
}

ValueId Regroup(Graph& graph, ValueId x, const Dims& from, const Dims& to, size_t kept) {
  x = PadRank(graph, x, from.size() + kept);
  const Dims dims = graph[x].type.dims;
  Dims wide = dims, result = to;
  for (const Run& run : RunsOf(from, to)) {
    const auto begin = static_cast<int64_t>(run.from_begin);
    const auto end = static_cast<int64_t>(run.from_end);
    const bool ones =
        std::all_of(dims.begin() + begin, dims.begin() + end, [](int64_t dim) { return dim == 1; });
    if (ones) {
      std::fill(result.begin() + static_cast<int64_t>(run.to_begin),
                result.begin() + static_cast<int64_t>(run.to_end), 1);
    } else {
      std::copy(from.begin() + begin, from.begin() + end, wide.begin() + begin);
    }
  }
  result.insert(result.end(), dims.end() - static_cast<int64_t>(kept), dims.end());
  return SimplifiedReshape(graph, SimplifiedExpand(graph, x, std::move(wide)), std::move(result));
}

}  // namespace mlc::graph
