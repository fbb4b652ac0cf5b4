#include "compiler/graph/passes/recognize_rotary.h"

#include <algorithm>
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

// How the last dimension is split: `dims`, of which that at `two` has the elements that turn
// together.
struct Split {
  Dims dims;
  size_t two = 0;
};

Split Halves(int64_t width) { return {{2, width / 2}, 0}; }
Split Pairs(int64_t width) { return {{width / 2, 2}, 1}; }

// How the last dimension turns if `id` is `x` with the second element of each two negated, before
// the first one: of neighbours, or of elements of both halves.
std::optional<Split> TurnOf(const Graph& graph, ValueId id, ValueId x) {
  const bool pairs = IsOp(graph, id, Op::kReshape);
  const Value& concat = graph[pairs ? graph[id].operands[0] : id];
  const int64_t width = graph[id].type.dims.back();
  if (concat.op != Op::kConcat || concat.operands.size() != 2 || width % 2 != 0) return {};
  if (concat.Int("axis") != concat.type.rank() - 1) return {};
  if (pairs && concat.type.rank() != graph[id].type.rank() + 1) return {};
  const auto without_last = [&](ValueId of) { return pairs ? WithoutLast(graph, of) : of; };
  const ValueId negated = without_last(concat.operands[0]);
  const ValueId first = without_last(concat.operands[1]);
  if (!IsScalarOp(graph, negated, ScalarOp::kNeg)) return {};
  const ValueId second = without_last(graph[negated].operands[0]);
  const int64_t step = pairs ? 2 : 1;
  if (!IsPart(graph, first, x, 0, step) || !IsPart(graph, second, x, pairs ? 1 : width / 2, step)) {
    return {};
  }
  return pairs ? Pairs(width) : Halves(width);
}

struct Rotary {
  ValueId x = kNoValue;
  ValueId cosine = kNoValue;
  ValueId sine = kNoValue;
  Split split;
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
      const std::optional<Split> split = TurnOf(graph, rotated, x);
      if (!split) continue;
      return Rotary{x, graph[plain].operands[1 - j % 2], graph[turned].operands[1 - j / 2], *split};
    }
  }
  return std::nullopt;
}

// The last dimension split, if it has more than one element.
ValueId SplitLast(Graph& graph, ValueId x, const Split& split) {
  Dims dims = graph[x].type.dims;
  if (dims.empty()) return x;
  const bool one = dims.back() == 1;
  dims.pop_back();
  for (const int64_t dim : split.dims) dims.push_back(one ? 1 : dim);
  return SimplifiedReshape(graph, x, std::move(dims));
}

ValueId Emit(Graph& graph, const Rotary& rotary) {
  const Split& split = rotary.split;
  const TensorType type = graph[rotary.x].type;
  const ValueId x = SplitLast(graph, rotary.x, split);
  Value flip;
  flip.op = Op::kSlice;
  flip.operands = {x};
  flip.type = {type.dtype, graph[x].type.dims, {}};
  Dims starts(flip.type.dims.size(), 0), steps(flip.type.dims.size(), 1);
  const size_t two = starts.size() - split.dims.size() + split.two;
  starts[two] = 1;
  steps[two] = -1;
  flip.attrs["starts"] = std::move(starts);
  flip.attrs["steps"] = std::move(steps);
  const ValueId flipped = AddNode(graph, std::move(flip));
  Dims signs(split.dims.size() - split.two, 1);
  signs.front() = 2;
  const ValueId sign = graph.Constant(WriteDoubles(type.dtype, signs, std::vector<double>{-1, 1}));
  const ValueId sine =
      SimplifiedPointwise(graph, ScalarOp::kMul, {SplitLast(graph, rotary.sine, split), sign});
  const ValueId plain =
      SimplifiedPointwise(graph, ScalarOp::kMul, {x, SplitLast(graph, rotary.cosine, split)});
  const ValueId turned = SimplifiedPointwise(graph, ScalarOp::kMul, {flipped, sine});
  const ValueId y = SimplifiedPointwise(graph, ScalarOp::kAdd, {plain, turned});
  return SimplifiedReshape(graph, y, type.dims);
}

// `x` with `fill` before and behind it, so that it has `width` elements in the last dimension.
ValueId Padded(Graph& graph, ValueId x, int64_t before, int64_t width, double fill) {
  const TensorType type = graph[x].type;
  Value concat;
  concat.op = Op::kConcat;
  concat.attrs["axis"] = int64_t{type.rank() - 1};
  const auto fill_up = [&](int64_t count) {
    if (count == 0) return;
    Dims dims = type.dims;
    dims.back() = count;
    int64_t elements = 1;
    for (const int64_t dim : dims) elements *= dim;
    const std::vector<double> values(static_cast<size_t>(elements), fill);
    concat.operands.push_back(graph.Constant(WriteDoubles(type.dtype, dims, values)));
  };
  fill_up(before);
  concat.operands.push_back(x);
  fill_up(width - before - type.dims.back());
  return AddSimplified(graph, std::move(concat));
}

ValueId Sliced(Graph& graph, const Part& part, const TensorType& type) {
  Value slice;
  slice.op = Op::kSlice;
  slice.operands = {part.of};
  slice.type = type;
  slice.attrs["starts"] = part.starts;
  slice.attrs["steps"] = part.steps;
  return AddSimplified(graph, std::move(slice));
}

// concat(turned part, rest) of the elements of one tensor: the rest turns by 0. Halves must be
// those of equal parts of the whole. `at`: which of the two turned.
std::optional<Rotary> WithRest(Graph& graph, const Value& concat, size_t at, Rotary rotary) {
  if (concat.Int("axis") != concat.type.rank() - 1) return std::nullopt;
  if (rotary.split.dims.size() != 2) return std::nullopt;  // has a rest already
  Part part = PartOf(graph, rotary.x), rest = PartOf(graph, concat.operands[1 - at]);
  const int64_t all = concat.type.dims.back(), width = graph[rotary.x].type.dims.back();
  const int64_t before = at == 0 ? 0 : all - width;
  const int64_t begin = std::min(part.starts.back(), rest.starts.back());
  const bool follows = part.starts.back() == begin + before &&
                       rest.starts.back() == begin + (at == 0 ? width : 0) &&
                       part.steps.back() == 1;
  part.starts.back() = rest.starts.back() = begin;
  if (!follows || part.of != rest.of || part.starts != rest.starts || part.steps != rest.steps) {
    return std::nullopt;
  }
  const Dims& cosine = graph[rotary.cosine].type.dims;
  const Dims& sine = graph[rotary.sine].type.dims;
  if (cosine.empty() || cosine.back() != width || sine.empty() || sine.back() != width) {
    return std::nullopt;
  }
  const bool pairs = rotary.split.dims.back() == 2 && rotary.split.two == 1;
  if (pairs ? all % 2 != 0 || before % 2 != 0 : all % width != 0) return std::nullopt;
  rotary.x = Sliced(graph, part, concat.type);
  rotary.cosine = Padded(graph, rotary.cosine, before, all, 1);
  rotary.sine = Padded(graph, rotary.sine, before, all, 0);
  rotary.split = pairs ? Pairs(all) : Split{{all / width, 2, width / 2}, 1};
  return rotary;
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
  return Rotary{before.of, *cosine, *sine, rotary.split};
}

// What is computed if `concat` joins the result of a rotary embedding to what does not turn.
std::optional<Rotary> Joined(Graph& graph, const Value& concat,
                             const std::map<ValueId, Rotary>& by_result) {
  if (concat.op != Op::kConcat || concat.operands.size() != 2 || concat.type.rank() < 2) return {};
  for (size_t i = 0; i < 2; ++i) {
    const auto turned = by_result.find(concat.operands[i]);
    if (turned == by_result.end()) continue;
    std::optional<Rotary> whole = WithRest(graph, concat, i, turned->second);
    if (!whole && i == 1) whole = WithPrefix(graph, concat, turned->second);
    if (whole) return whole;
  }
  return std::nullopt;
}

}  // namespace

Result<bool> RecognizeRotary(Graph& graph) {
  std::map<ValueId, Rotary> by_result;
  return Rewriter::Run(graph, [&](Rewriter& rewriter, const Value& node) {
    Graph& out = rewriter.out();
    std::optional<Rotary> rotary = Joined(out, node, by_result);
    if (!rotary) rotary = Match(rewriter, out, node);
    if (!rotary) return out.Add(node);
    const ValueId result = Emit(out, *rotary);
    by_result.insert_or_assign(result, *rotary);
    return result;
  });
}

}  // namespace mlc::graph
