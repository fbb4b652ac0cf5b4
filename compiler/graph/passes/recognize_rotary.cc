#include "compiler/graph/passes/recognize_rotary.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "compiler/graph/passes/regroup.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// The elements of `of` that a slice takes, or all of them.
struct Part {
  ValueId of = kNoValue;
  Dims starts, steps;
};

Part PartOf(const Graph& graph, ValueId id) {
  const Value& node = graph[id];
  if (node.op == Op::kSlice) return {node.operands[0], node.Ints("starts"), node.Ints("steps")};
  const auto rank = static_cast<size_t>(node.type.rank());
  return {id, Dims(rank, 0), Dims(rank, 1)};
}

// Whether `id` is the elements of `x` from `start` of the last dimension on, `step` apart.
bool IsPart(const Graph& graph, ValueId id, ValueId x, int64_t start, int64_t step) {
  Part wanted = PartOf(graph, x);
  if (wanted.steps.back() != 1) return false;
  wanted.starts.back() += start;
  wanted.steps.back() = step;
  Dims dims = graph[x].type.dims;
  dims.back() /= 2;
  const Part part = PartOf(graph, id);
  return part.of == wanted.of && part.starts == wanted.starts && part.steps == wanted.steps &&
         graph[id].type.dims == dims;
}

// Below a reshape that adds a last dimension of one, if there is one.
ValueId WithoutLast(const Graph& graph, ValueId id) {
  if (!IsOp(graph, id, Op::kReshape)) return id;
  Dims dims = graph[graph[id].operands[0]].type.dims;
  dims.push_back(1);
  return dims == graph[id].type.dims ? graph[id].operands[0] : id;
}

// How neighbours of the last dimension turn: a half with the other, or each with the next.
enum class Turn : uint8_t { kHalves, kPairs };

// Whether `id` is `x` with the second element of each two negated, before the first one.
std::optional<Turn> TurnOf(const Graph& graph, ValueId id, ValueId x) {
  const bool pairs = IsOp(graph, id, Op::kReshape);
  const Value& concat = graph[pairs ? graph[id].operands[0] : id];
  const int64_t width = graph[id].type.dims.back();
  if (concat.op != Op::kConcat || concat.operands.size() != 2 || width % 2 != 0) return {};
  if (concat.Int("axis") != concat.type.rank() - 1) return {};
  if (pairs && concat.type.rank() != graph[id].type.rank() + 1) return {};
  ValueId negated = concat.operands[0], first = concat.operands[1];
  if (pairs) {
    negated = WithoutLast(graph, negated);
    first = WithoutLast(graph, first);
  }
  if (!IsScalarOp(graph, negated, ScalarOp::kNeg)) return {};
  const ValueId second = graph[negated].operands[0];
  const int64_t step = pairs ? 2 : 1;
  if (!IsPart(graph, first, x, 0, step) || !IsPart(graph, second, x, pairs ? 1 : width / 2, step)) {
    return {};
  }
  return pairs ? Turn::kPairs : Turn::kHalves;
}

struct Rotary {
  ValueId x = kNoValue;
  ValueId cosine = kNoValue;
  ValueId sine = kNoValue;
  Turn turn = Turn::kHalves;
};

std::optional<Rotary> Match(const Rewriter& rewriter, const Graph& graph, const Value& node) {
  const bool sum = node.op == Op::kPointwise && node.scalar == ScalarOp::kAdd;
  if (!sum || node.type.rank() < 1 || !IsFloat(node.type.dtype)) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    const ValueId plain = node.operands[i], turned = node.operands[1 - i];
    if (!IsScalarOp(graph, plain, ScalarOp::kMul) || !IsScalarOp(graph, turned, ScalarOp::kMul) ||
        rewriter.Uses(plain) != 1 || rewriter.Uses(turned) != 1) {
      continue;
    }
    for (size_t j = 0; j < 4; ++j) {
      const ValueId x = graph[plain].operands[j % 2];
      const ValueId rotated = graph[turned].operands[j / 2];
      if (graph[x].type.dims != node.type.dims || graph[rotated].type.dims != node.type.dims ||
          rewriter.Uses(rotated) != 1) {
        continue;
      }
      const std::optional<Turn> turn = TurnOf(graph, rotated, x);
      if (!turn) continue;
      return Rotary{x, graph[plain].operands[1 - j % 2], graph[turned].operands[1 - j / 2], *turn};
    }
  }
  return std::nullopt;
}

// The last dimension as halves, or as pairs, if there is one of that size.
ValueId InTwos(Graph& graph, ValueId x, int64_t width, Turn turn) {
  Dims dims = graph[x].type.dims;
  if (dims.empty()) return x;
  const bool one = dims.back() == 1, halves = turn == Turn::kHalves;
  dims.back() = one ? 1 : halves ? 2 : width / 2;
  dims.push_back(one ? 1 : halves ? width / 2 : 2);
  return SimplifiedReshape(graph, x, std::move(dims));
}

ValueId Emit(Graph& graph, const Rotary& rotary) {
  const TensorType type = graph[rotary.x].type;
  const bool halves = rotary.turn == Turn::kHalves;
  const auto in_twos = [&](ValueId id) { return InTwos(graph, id, type.dims.back(), rotary.turn); };
  const ValueId x = in_twos(rotary.x);
  Value flip;
  flip.op = Op::kSlice;
  flip.operands = {x};
  flip.type = {type.dtype, graph[x].type.dims, {}};
  Dims starts(flip.type.dims.size(), 0), steps(flip.type.dims.size(), 1);
  const size_t two = starts.size() - (halves ? 2 : 1);
  starts[two] = 1;
  steps[two] = -1;
  flip.attrs["starts"] = std::move(starts);
  flip.attrs["steps"] = std::move(steps);
  const ValueId flipped = AddNode(graph, std::move(flip));
  const ValueId sign = graph.Constant(
      WriteDoubles(type.dtype, halves ? Dims{2, 1} : Dims{2}, std::vector<double>{-1, 1}));
  const ValueId sine = SimplifiedPointwise(graph, ScalarOp::kMul, {in_twos(rotary.sine), sign});
  const ValueId plain = SimplifiedPointwise(graph, ScalarOp::kMul, {x, in_twos(rotary.cosine)});
  const ValueId turned = SimplifiedPointwise(graph, ScalarOp::kMul, {flipped, sine});
  const ValueId y = SimplifiedPointwise(graph, ScalarOp::kAdd, {plain, turned});
  return SimplifiedReshape(graph, y, type.dims);
}

// A known factor of positions [..., n, width] with one of `count` more positions in front.
std::optional<ValueId> Extended(Graph& graph, ValueId factor, int64_t count, double number) {
  const Value& node = graph[factor];
  const auto rank = static_cast<size_t>(node.type.rank());
  if (!IsConstant(graph, factor) || rank < 2 || node.type.dims[rank - 2] == 1) return std::nullopt;
  const TensorDataRef data = ConstantData(node);
  if (data == nullptr) return std::nullopt;
  const int64_t block = node.type.dims[rank - 2] * node.type.dims[rank - 1];
  const std::vector<double> from = ReadDoubles(*data);
  std::vector<double> to;
  for (size_t at = 0; at < from.size(); at += static_cast<size_t>(block)) {
    to.insert(to.end(), static_cast<size_t>(count * node.type.dims[rank - 1]), number);
    to.insert(to.end(), from.begin() + static_cast<ptrdiff_t>(at),
              from.begin() + static_cast<ptrdiff_t>(at) + block);
  }
  Dims dims = node.type.dims;
  dims[rank - 2] += count;
  return graph.Constant(WriteDoubles(node.type.dtype, dims, to));
}

// The tokens before those that turn, as a class token: they turn by nothing.
std::optional<Rotary> WithPrefix(Graph& graph, const Value& concat, Rotary rotary) {
  const int64_t axis = concat.type.rank() - 2;
  if (concat.Int("axis") != axis) return std::nullopt;
  const auto at = static_cast<size_t>(axis);
  const int64_t count = graph[concat.operands[0]].type.dims[at];
  const Part before = PartOf(graph, concat.operands[0]), after = PartOf(graph, rotary.x);
  Dims first(concat.type.dims.size(), 0);
  const Dims ones(first.size(), 1);
  if (before.of != after.of || before.starts != first || before.steps != ones) return std::nullopt;
  first[at] = count;
  if (after.starts != first || after.steps != ones) return std::nullopt;
  if (graph[before.of].type.dims != concat.type.dims) return std::nullopt;
  const std::optional<ValueId> cosine = Extended(graph, rotary.cosine, count, 1);
  const std::optional<ValueId> sine = Extended(graph, rotary.sine, count, 0);
  if (!cosine || !sine) return std::nullopt;
  return Rotary{before.of, *cosine, *sine, rotary.turn};
}

}  // namespace

Result<bool> RecognizeRotary(Graph& graph) {
  std::map<ValueId, Rotary> found;  // by result
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    std::optional<Rotary> rotary = Match(rewriter, out, node);
    if (node.op == Op::kConcat && node.operands.size() == 2 && node.type.rank() >= 2) {
      const auto turned = found.find(node.operands[1]);
      if (turned != found.end()) rotary = WithPrefix(out, node, turned->second);
    }
    if (!rotary) return out.Add(node);
    const ValueId result = Emit(out, *rotary);
    found.insert_or_assign(result, *rotary);
    return result;
  });
}

}  // namespace mlc::graph
