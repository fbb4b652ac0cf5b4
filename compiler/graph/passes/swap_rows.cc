#include "compiler/graph/passes/swap_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "compiler/graph/passes/regroup.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

using Users = std::vector<std::vector<ValueId>>;

const Dims kSwap = {1, 0, 2};

// The operand that has the node's rows, if all others are the same for each row.
std::optional<size_t> OperandWithRows(const Graph& graph, const Value& node) {
  std::optional<size_t> found;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const TensorType& type = graph[node.operands[i]].type;
    if (type.dims == node.type.dims) {
      if (found) return std::nullopt;
      found = i;
    } else if (type.rank() > 1 && type.NumElements() != type.dims.back()) {
      return std::nullopt;
    }
  }
  return found;
}

// The product's rows, reshape(transpose(x)), as if the outer two dimensions had not been swapped.
std::optional<ValueId> Unswapped(Graph& graph, ValueId rows, int64_t tokens, int64_t batch) {
  if (!IsOp(graph, rows, Op::kReshape)) return std::nullopt;
  const ValueId moved = graph[rows].operands[0];
  if (!IsOp(graph, moved, Op::kTranspose)) return std::nullopt;
  const Value transpose = graph[moved];
  const Dims& dims = transpose.type.dims;
  if (dims.size() < 3 || dims[0] != tokens || dims[1] != batch) return std::nullopt;
  Dims perm = transpose.Ints("perm");
  std::swap(perm[0], perm[1]);
  const Dims to = graph[rows].type.dims;
  return AddReshape(graph, AddTranspose(graph, transpose.operands[0], std::move(perm)), to);
}

bool IsOutput(const Graph& graph, ValueId id) {
  return std::find(graph.outputs().begin(), graph.outputs().end(), id) != graph.outputs().end();
}

// The two swapped dimensions of a value.
struct Swapped {
  size_t outer, inner;
};

// Where the dimension `at` of `from` is after a reshape to `to` that leaves it whole.
std::optional<size_t> AfterReshape(const Dims& from, const Dims& to, size_t at) {
  const auto product = [](int64_t a, int64_t b) { return a * b; };
  const int64_t before =
      std::accumulate(from.begin(), from.begin() + static_cast<int64_t>(at), int64_t{1}, product);
  int64_t reached = 1;
  for (size_t i = 0; i < to.size() && reached <= before; reached *= to[i++]) {
    if (reached == before && to[i] == from[at]) return i;
  }
  return std::nullopt;
}

// Where the dimensions of a value with `from` are in its reader, if that is a view that leaves both
// whole.
std::optional<Swapped> InView(const Value& view, const Dims& from, Swapped at) {
  if (view.op == Op::kReshape) {
    const std::optional<size_t> outer = AfterReshape(from, view.type.dims, at.outer);
    const std::optional<size_t> inner = AfterReshape(from, view.type.dims, at.inner);
    if (!outer || !inner) return std::nullopt;
    return Swapped{*outer, *inner};
  }
  if (view.op == Op::kTranspose) {
    const Dims& perm = view.Ints("perm");
    const auto place = [&](size_t axis) {
      return static_cast<size_t>(std::find(perm.begin(), perm.end(), static_cast<int64_t>(axis)) -
                                 perm.begin());
    };
    return Swapped{place(at.outer), place(at.inner)};
  }
  if (view.op != Op::kSlice) return std::nullopt;
  const Dims& steps = view.Ints("steps");
  const bool forward = std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s > 0; });
  const Dims& dims = view.type.dims;
  if (!forward || dims[at.outer] != from[at.outer] || dims[at.inner] != from[at.inner]) {
    return std::nullopt;
  }
  return at;
}

// Whether all readers of a value with `dims` are attention, through views at most, of which the
// swapped dimensions are not the last one, whose elements kernels read together.
bool OnlyAttentionReads(const Graph& graph, const Users& users, ValueId id, const Dims& dims,
                        Swapped at) {
  const std::vector<ValueId>& readers = users[static_cast<size_t>(id)];
  if (readers.empty() || IsOutput(graph, id)) return false;
  return std::all_of(readers.begin(), readers.end(), [&](ValueId reader) {
    const Value& node = graph[reader];
    if (node.op == Op::kAttention) {
      const auto end = node.operands.begin() + 3;
      return std::find(node.operands.begin(), end, id) != end && std::max(at.outer, at.inner) < 3 &&
             std::find(end, node.operands.end(), id) == node.operands.end();
    }
    const std::optional<Swapped> moved = InView(node, dims, at);
    return moved && OnlyAttentionReads(graph, users, reader, node.type.dims, *moved);
  });
}

// A product and what is computed along its rows, each the only reader of the one before.
struct RowChain {
  std::vector<ValueId> nodes;
  std::vector<size_t> operands;  // of each node the one that has rows
};

RowChain ChainFrom(const Graph& graph, const Users& users, ValueId product) {
  RowChain chain{{product}, {0}};
  while (true) {
    const ValueId last = chain.nodes.back();
    const std::vector<ValueId>& readers = users[static_cast<size_t>(last)];
    if (readers.size() != 1 || IsOutput(graph, last)) return chain;
    const Value& node = graph[readers[0]];
    if (node.op != Op::kPointwise && node.op != Op::kCast) return chain;
    const std::optional<size_t> operand = OperandWithRows(graph, node);
    if (!operand || node.operands[*operand] != last) return chain;
    chain.nodes.push_back(readers[0]);
    chain.operands.push_back(*operand);
  }
}

// The chains of all readers of [T*B,K] if each is a product that only attention reads; else none.
std::vector<RowChain> ChainsOf(const Graph& graph, const Users& users, ValueId rows,
                               const Dims& swapped) {
  std::vector<RowChain> chains;
  if (IsOutput(graph, rows)) return {};
  for (const ValueId reader : users[static_cast<size_t>(rows)]) {
    const Value& product = graph[reader];
    const bool fits = product.op == Op::kMatMul && product.operands.size() == 2 &&
                      product.operands[0] == rows && product.operands[1] != rows &&
                      graph[product.operands[1]].type.rank() == 2;
    if (!fits) return {};
    RowChain chain = ChainFrom(graph, users, reader);
    const ValueId last = chain.nodes.back();
    const Dims apart = {swapped[0], swapped[1], graph[last].type.dims.back()};
    if (!OnlyAttentionReads(graph, users, last, apart, {0, 1})) return {};
    chains.push_back(std::move(chain));
  }
  return chains;
}

// Adds the chain anew, of rows that are not swapped, and swaps its result.
void SwapLast(Graph& graph, const RowChain& chain, ValueId rows, const Dims& swapped) {
  ValueId result = rows;
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    Value node = graph[chain.nodes[i]];
    node.operands[chain.operands[i]] = result;
    result = graph.Add(std::move(node));
  }
  const TensorType type = graph[result].type;
  const ValueId apart = AddReshape(graph, result, {swapped[1], swapped[0], type.dims.back()});
  const ValueId swap = AddTranspose(graph, apart, kSwap);
  graph.ReplaceUses(chain.nodes.back(), AddReshape(graph, swap, type.dims));
}

}  // namespace

Result<bool> SwapRowsLater(Graph& graph) {
  const Users users = graph.Users();
  bool changed = false;
  for (ValueId id = 0; id < static_cast<ValueId>(users.size()); ++id) {
    if (graph[id].op != Op::kReshape || !IsOp(graph, graph[id].operands[0], Op::kTranspose)) {
      continue;
    }
    const Value swap = graph[graph[id].operands[0]];
    const Dims dims = swap.type.dims, flat = graph[id].type.dims;
    if (swap.Ints("perm") != kSwap || flat != Dims{dims[0] * dims[1], dims[2]}) continue;
    if (swap.type.NumElements() == 0) continue;
    const std::vector<RowChain> chains = ChainsOf(graph, users, id, dims);
    if (chains.empty()) continue;
    const ValueId rows = SimplifiedReshape(graph, swap.operands[0], flat);
    for (const RowChain& chain : chains) SwapLast(graph, chain, rows, dims);
    changed = true;
  }
  if (changed) graph.Compact();
  return changed;
}

std::optional<ValueId> WithoutSwap(Rewriter& rewriter, const Value& transpose) {
  Graph& graph = rewriter.out();
  if (transpose.op != Op::kTranspose || transpose.Ints("perm") != kSwap) return std::nullopt;
  const ValueId split = transpose.operands[0];
  if (!IsOp(graph, split, Op::kReshape) || rewriter.Uses(split) > 1) return std::nullopt;
  const Dims dims = graph[split].type.dims;
  ValueId at = graph[split].operands[0];
  if (graph[at].type.dims != Dims{dims[0] * dims[1], dims[2]}) return std::nullopt;
  std::vector<std::pair<Value, size_t>> along;  // from the last one, with the operand that has rows
  while (IsOp(graph, at, Op::kPointwise) && rewriter.Uses(at) == 1) {
    const std::optional<size_t> operand = OperandWithRows(graph, graph[at]);
    if (!operand) return std::nullopt;
    along.emplace_back(graph[at], *operand);
    at = graph[at].operands[*operand];
  }
  if (!IsOp(graph, at, Op::kMatMul) || rewriter.Uses(at) > 1) return std::nullopt;
  Value product = graph[at];
  if (graph[product.operands[1]].type.rank() != 2 || product.operands.size() > 2) {
    return std::nullopt;
  }
  const std::optional<ValueId> rows = Unswapped(graph, product.operands[0], dims[0], dims[1]);
  if (!rows) return std::nullopt;
  product.operands[0] = *rows;
  ValueId result = AddNode(graph, std::move(product));
  for (auto step = along.rbegin(); step != along.rend(); ++step) {
    step->first.operands[step->second] = result;
    result = graph.Add(std::move(step->first));
  }
  return AddReshape(graph, result, transpose.type.dims);
}

}  // namespace mlc::graph
