#include "compiler/graph/passes/grouped_heads.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/passes/joined_batches.h"
#include "compiler/graph/passes/regroup.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// So many changes of shape are looked through.
constexpr int kFarthest = 8;

// A tensor whose elements along an axis stand for `times` equal ones each.
struct Repeated {
  ValueId of = kNoValue;
  int64_t times = 1;
};

std::optional<Repeated> FindRepeats(Graph& graph, ValueId id, size_t axis, int depth = 0);

int64_t ProductOf(const Dims& dims, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

// What an expand or tile repeats, if that is one dimension of size one; its place.
std::optional<size_t> RepeatedDimension(const Graph& graph, const Value& node) {
  if (node.op != Op::kExpand && node.op != Op::kTile) return std::nullopt;
  Dims from = graph[node.operands[0]].type.dims;
  const Dims& to = node.type.dims;
  if (from.size() > to.size()) return std::nullopt;
  from.insert(from.begin(), to.size() - from.size(), 1);
  std::optional<size_t> found;
  for (size_t i = 0; i < to.size(); ++i) {
    if (from[i] == to[i]) continue;
    if (from[i] != 1 || to[i] == 0 || found) return std::nullopt;
    found = i;
  }
  return found;
}

// [.., heads, times, ..] joined to [.., heads * times, ..].
std::optional<Repeated> JoinedRepeats(Graph& graph, const Value& reshape, size_t axis) {
  const Value repeat = graph[reshape.operands[0]];
  const std::optional<size_t> place = RepeatedDimension(graph, repeat);
  if (!place) return std::nullopt;
  Dims dims = reshape.type.dims;
  const Dims& wide = repeat.type.dims;
  const int64_t times = wide[*place];
  if (ProductOf(wide, 0, *place + 1) != ProductOf(dims, 0, axis + 1)) return std::nullopt;
  if (dims[axis] % times != 0) return std::nullopt;
  dims[axis] /= times;
  return Repeated{SimplifiedReshape(graph, repeat.operands[0], dims), times};
}

// A reshape that adds or drops dimensions of size one only.
std::optional<Repeated> BelowOnes(Graph& graph, const Value& reshape, size_t axis, int depth) {
  const Dims from = graph[reshape.operands[0]].type.dims;
  Dims to = reshape.type.dims;
  Dims kept = from, left = to;
  std::erase(kept, 1);
  std::erase(left, 1);
  if (kept != left || to[axis] == 1) return std::nullopt;
  const auto place = std::count_if(to.begin(), to.begin() + static_cast<int64_t>(axis),
                                   [](int64_t dim) { return dim != 1; });
  size_t below = 0;
  for (int64_t seen = 0; seen < place || from[below] == 1; ++below) seen += from[below] != 1;
  const std::optional<Repeated> found = FindRepeats(graph, reshape.operands[0], below, depth + 1);
  if (!found) return std::nullopt;
  to[axis] /= found->times;
  return Repeated{SimplifiedReshape(graph, found->of, to), found->times};
}

std::optional<Repeated> BelowTranspose(Graph& graph, const Value& node, size_t axis, int depth) {
  const Dims& perm = node.Ints("perm");
  std::optional<Repeated> found =
      FindRepeats(graph, node.operands[0], static_cast<size_t>(perm[axis]), depth + 1);
  if (found) found->of = SimplifiedTranspose(graph, found->of, perm);
  return found;
}

// gather(x, [0, 0, 1, 1, ...]).
std::optional<Repeated> GatheredRepeats(Graph& graph, const Value& node, size_t axis) {
  if (node.Int("axis") != static_cast<int64_t>(axis)) return std::nullopt;
  if (!IsConstant(graph, node.operands[1]) || graph[node.operands[1]].type.rank() != 1) {
    return std::nullopt;
  }
  const TensorDataRef data = ConstantData(graph[node.operands[1]]);
  const int64_t heads = graph[node.operands[0]].type.dims[axis];
  const int64_t count = node.type.dims[axis];
  if (heads == 0 || count % heads != 0 || count == heads) return std::nullopt;
  const int64_t times = count / heads;
  for (int64_t i = 0; i < count; ++i) {
    if (ReadInt(*data, i) != i / times) return std::nullopt;
  }
  return Repeated{node.operands[0], times};
}

// select(c, x, number), whose condition is the same for all elements along the axis: as masks of
// the length of keys are.
std::optional<Repeated> SelectedRepeats(Graph& graph, const Value& node, size_t axis, int depth) {
  if (node.scalar != ScalarOp::kSelect || !SplatOf(graph, node.operands[2])) return std::nullopt;
  if (graph[node.operands[1]].type.dims != node.type.dims) return std::nullopt;
  const Dims& condition = graph[node.operands[0]].type.dims;
  const size_t behind = node.type.dims.size() - axis;  // the axis, too
  if (condition.size() >= behind && condition[condition.size() - behind] != 1) return std::nullopt;
  std::optional<Repeated> found = FindRepeats(graph, node.operands[1], axis, depth + 1);
  if (found) {
    const ValueId number = graph.Splat(node.type.dtype, *SplatOf(graph, node.operands[2]));
    found->of =
        SimplifiedPointwise(graph, ScalarOp::kSelect, {node.operands[0], found->of, number});
  }
  return found;
}

std::optional<Repeated> FindRepeats(Graph& graph, ValueId id, size_t axis, int depth) {
  if (depth > kFarthest) return std::nullopt;
  const Value node = graph[id];
  switch (node.op) {
    case Op::kReshape:
      if (auto found = JoinedRepeats(graph, node, axis)) return found;
      return BelowOnes(graph, node, axis, depth);
    case Op::kTranspose:
      return BelowTranspose(graph, node, axis, depth);
    case Op::kGather:
      return GatheredRepeats(graph, node, axis);
    case Op::kPointwise:
      return SelectedRepeats(graph, node, axis, depth);
    case Op::kExpand:
      // One head for all.
      if (RepeatedDimension(graph, node) != axis) return std::nullopt;
      return Repeated{PadRank(graph, node.operands[0], node.type.dims.size()),
                      node.type.dims[axis]};
    default:
      return std::nullopt;
  }
}

struct Shape {
  int64_t batch, heads, queries, groups, times;
};

// What broadcasts to scores of one batch, for attention of shape [groups, times, queries, ...].
ValueId InBatches(Graph& graph, ValueId x, const Shape& s) {
  const Dims dims = graph[x].type.dims;
  if (dims[1] == 1) return x;
  return SimplifiedReshape(graph, x, {s.groups, s.times, dims[2], dims[3]});
}

// The same for attention of shape [batch, groups, times, ...].
ValueId InRows(Graph& graph, ValueId x, const Shape& s) {
  const Dims dims = graph[x].type.dims;
  if (dims[1] == 1) return x;
  return SimplifiedReshape(graph, x, {dims[0], s.groups, s.times, dims[3]});
}

// Attention of groups; null if nothing is repeated. Several queries of several batches stay, since
// their operands would have to be copied for the joined dimension.
std::optional<ValueId> Grouped(Graph& graph, const Value& attention) {
  const Dims q = graph[attention.operands[0]].type.dims;
  const bool rows = q[2] == 1;
  if (!rows && q[0] != 1) return std::nullopt;
  const std::optional<Repeated> k = FindRepeats(graph, attention.operands[1], 1);
  if (!k) return std::nullopt;
  const std::optional<Repeated> v = FindRepeats(graph, attention.operands[2], 1);
  if (!v || v->times != k->times || q[1] % k->times != 0) return std::nullopt;
  const Dims keys = graph[k->of].type.dims, values = graph[v->of].type.dims;
  const Shape s{q[0], q[1], q[2], q[1] / k->times, k->times};
  Value node = attention;
  if (rows) {
    node.operands[0] =
        SimplifiedReshape(graph, node.operands[0], {s.batch, s.groups, s.times, q[3]});
    node.operands[1] = k->of;
    node.operands[2] = v->of;
  } else {
    const auto shared = [&](ValueId x, const Dims& d) {
      return SimplifiedExpand(graph, SimplifiedReshape(graph, x, {s.groups, 1, d[2], d[3]}),
                              {s.groups, s.times, d[2], d[3]});
    };
    node.operands[0] = SimplifiedReshape(graph, node.operands[0], {s.groups, s.times, q[2], q[3]});
    node.operands[1] = shared(k->of, keys);
    node.operands[2] = shared(v->of, values);
  }
  if (node.operands.size() > 3 && node.operands[3] != kNoValue) {
    const ValueId mask = PadRank(graph, node.operands[3], 4);
    node.operands[3] = rows ? InRows(graph, mask, s) : InBatches(graph, mask, s);
  }
  const ValueId result = AddNode(graph, std::move(node));
  return SimplifiedReshape(graph, result, {s.batch, s.heads, s.queries, values[3]});
}

}  // namespace

ValueId ZeroRows(Graph& graph, ValueId rows, ValueId x) {
  const ValueId zero = graph.Splat(graph[x].type.dtype, 0);
  const ValueId below = graph[x].op == Op::kReshape ? graph[x].operands[0] : kNoValue;
  const Dims dims = graph[x].type.dims;
  if (below != kNoValue && graph[below].op == Op::kAttention && dims.size() == 4 &&
      graph[x].type.NumElements() > 0) {
    const Dims in = graph[below].type.dims;
    // One query of each head of a group is a row; or a group is a batch.
    const bool are_rows = in[0] == dims[0] && dims[2] == 1 && in[2] != 1;
    const int64_t times = are_rows ? in[2] : in[1];
    const Shape s{dims[0], dims[1], dims[2], dims[1] / times, times};
    const Dims wanted = are_rows ? Dims{s.batch, s.groups, times, dims[3]}
                                 : Dims{s.groups, times, s.queries, dims[3]};
    if (in == wanted && (are_rows || s.batch == 1)) {
      const ValueId padded = PadRank(graph, rows, 4);
      const ValueId grouped = are_rows ? InRows(graph, padded, s) : InBatches(graph, padded, s);
      const ValueId zeroed = SimplifiedPointwise(graph, ScalarOp::kSelect, {grouped, zero, below});
      return SimplifiedReshape(graph, zeroed, dims);
    }
  }
  return SimplifiedPointwise(graph, ScalarOp::kSelect, {rows, zero, x});
}

ValueId AddAttention(Graph& graph, Value attention) {
  if (const std::optional<ValueId> grouped = Grouped(graph, attention)) return *grouped;
  if (const std::optional<ValueId> apart = AttentionOfBatches(graph, attention)) return *apart;
  return AddNode(graph, std::move(attention));
}

}  // namespace mlc::graph
