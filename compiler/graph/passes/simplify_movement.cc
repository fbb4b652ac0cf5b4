// Rules on data movement and casts.
#include <algorithm>
#include <array>

#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Replacement = std::optional<ValueId>;

Value MakeTranspose(ValueId x, std::vector<int64_t> perm) {
  Value node;
  node.op = Op::kTranspose;
  node.operands = {x};
  node.attrs["perm"] = std::move(perm);
  return node;
}

Value MakeReshape(const Graph& graph, ValueId x, std::vector<int64_t> dims) {
  Value node;
  node.op = Op::kReshape;
  node.operands = {x};
  node.type.dtype = graph[x].type.dtype;
  node.type.dims = std::move(dims);
  return node;
}

std::vector<int64_t> WithoutOnes(const std::vector<int64_t>& dims) {
  std::vector<int64_t> kept;
  std::copy_if(dims.begin(), dims.end(), std::back_inserter(kept),
               [](int64_t d) { return d != 1; });
  return kept;
}

// Movement that gives its operand back.
Replacement NoMovement(Graph& graph, const Value& node) {
  const bool can_be_identity = node.op == Op::kReshape || node.op == Op::kExpand ||
                               node.op == Op::kTile || node.op == Op::kSlice ||
                               node.op == Op::kPad || node.op == Op::kCast;
  const bool single = node.op == Op::kConcat && node.operands.size() == 1;
  if (!can_be_identity && !single) return std::nullopt;
  const TensorType& x = graph[node.operands[0]].type;
  if (x.dims != node.type.dims || x.dtype != node.type.dtype) return std::nullopt;
  if (node.op == Op::kSlice) {
    const std::vector<int64_t>& steps = node.Ints("steps");
    for (size_t i = 0; i < steps.size(); ++i) {
      if (steps[i] < 0 && x.dims[i] > 1) return std::nullopt;
    }
  }
  if (node.op == Op::kPad) {
    const std::vector<int64_t>& pads = node.Ints("pads");
    if (std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; })) {
      return std::nullopt;
    }
  }
  return node.operands[0];
}

// A transpose that keeps the order of all dimensions but those of size one is a reshape.
Replacement TransposeOfOnes(Graph& graph, const Value& node) {
  if (node.op != Op::kTranspose) return std::nullopt;
  const std::vector<int64_t>& dims = graph[node.operands[0]].type.dims;
  int64_t last = -1;
  for (const int64_t axis : node.Ints("perm")) {
    if (dims[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  return AddSimplified(graph, MakeReshape(graph, node.operands[0], node.type.dims));
}

// transpose(transpose(x)) -> transpose(x).
Replacement DoubleTranspose(Graph& graph, const Value& node) {
  if (node.op != Op::kTranspose || !IsOp(graph, node.operands[0], Op::kTranspose)) {
    return std::nullopt;
  }
  const Value& inner = graph[node.operands[0]];
  std::vector<int64_t> perm;
  for (const int64_t axis : node.Ints("perm")) {
    perm.push_back(inner.Ints("perm")[static_cast<size_t>(axis)]);
  }
  return AddSimplified(graph, MakeTranspose(inner.operands[0], std::move(perm)));
}

// reshape(reshape(x)) -> reshape(x).
Replacement DoubleReshape(Graph& graph, const Value& node) {
  if (node.op != Op::kReshape || !IsOp(graph, node.operands[0], Op::kReshape)) return std::nullopt;
  return AddSimplified(graph,
                       MakeReshape(graph, graph[node.operands[0]].operands[0], node.type.dims));
}

// transpose(reshape(transpose(x))) -> reshape(transpose(x)), where the reshape only adds or drops
// dimensions of size one: transposes meet and merge.
Replacement TransposeThroughOnes(Graph& graph, const Value& node) {
  if (node.op != Op::kTranspose || !IsOp(graph, node.operands[0], Op::kReshape)) {
    return std::nullopt;
  }
  const ValueId x = graph[node.operands[0]].operands[0];
  const std::vector<int64_t> outer = graph[node.operands[0]].type.dims;
  const std::vector<int64_t> inner = graph[x].type.dims;
  if (!IsOp(graph, x, Op::kTranspose) || WithoutOnes(outer) != WithoutOnes(inner)) {
    return std::nullopt;
  }
  // Matching dimensions of the two shapes, in order; the ones of `inner` go anywhere.
  std::vector<int64_t> perm;
  std::vector<int64_t> position(outer.size(), -1);
  size_t next = 0;
  for (size_t i = 0; i < outer.size(); ++i) {
    if (outer[i] == 1) continue;
    while (inner[next] == 1) ++next;
    position[i] = static_cast<int64_t>(next++);
  }
  for (const int64_t axis : node.Ints("perm")) {
    if (position[static_cast<size_t>(axis)] >= 0)
      perm.push_back(position[static_cast<size_t>(axis)]);
  }
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] == 1) perm.push_back(static_cast<int64_t>(i));
  }
  const ValueId transposed = AddSimplified(graph, MakeTranspose(x, std::move(perm)));
  return AddSimplified(graph, MakeReshape(graph, transposed, node.type.dims));
}

// slice(slice(x)) -> slice(x).
Replacement DoubleSlice(Graph& graph, const Value& node) {
  if (node.op != Op::kSlice || !IsOp(graph, node.operands[0], Op::kSlice)) return std::nullopt;
  const Value& inner = graph[node.operands[0]];
  Value merged = node;
  merged.operands = inner.operands;
  std::vector<int64_t> starts = inner.Ints("starts"), steps = inner.Ints("steps");
  for (size_t i = 0; i < starts.size(); ++i) {
    if (node.type.dims[i] == 0) return std::nullopt;
    starts[i] += node.Ints("starts")[i] * steps[i];
    // One element has no direction; its step must not overflow.
    steps[i] = node.type.dims[i] == 1 ? 1 : steps[i] * node.Ints("steps")[i];
  }
  merged.attrs["starts"] = std::move(starts);
  merged.attrs["steps"] = std::move(steps);
  return AddSimplified(graph, std::move(merged));
}

// expand(expand(x)) -> expand(x).
Replacement DoubleExpand(Graph& graph, const Value& node) {
  if (node.op != Op::kExpand || !IsOp(graph, node.operands[0], Op::kExpand)) return std::nullopt;
  Value merged = node;
  merged.operands = graph[node.operands[0]].operands;
  return AddSimplified(graph, std::move(merged));
}

// cast(cast(x)) -> cast(x), where the first holds every value of x.
Replacement DoubleCast(Graph& graph, const Value& node) {
  if (node.op != Op::kCast || !IsOp(graph, node.operands[0], Op::kCast)) return std::nullopt;
  const ValueId x = graph[node.operands[0]].operands[0];
  const DType from = graph[x].type.dtype, middle = graph[node.operands[0]].type.dtype;
  const bool halves = from == DType::kF16 || from == DType::kBF16;
  const bool exact =
      (IsFloat(from) && middle == DType::kF64) || (halves && middle == DType::kF32) ||
      (from == DType::kBool && middle != DType::kBool) ||
      (from != DType::kBool && from != DType::kU64 && !IsFloat(from) && middle == DType::kI64);
  if (!exact) return std::nullopt;
  Value merged = node;
  merged.operands = {x};
  return AddSimplified(graph, std::move(merged));
}

// concat(x, y of no elements) -> concat(x).
Replacement ConcatOfNothing(Graph& graph, const Value& node) {
  if (node.op != Op::kConcat || node.type.NumElements() == 0) return std::nullopt;
  Value kept = node;
  std::erase_if(kept.operands, [&](ValueId id) { return graph[id].type.NumElements() == 0; });
  if (kept.operands.size() == node.operands.size()) return std::nullopt;
  return AddSimplified(graph, std::move(kept));
}

// The step of indices that lie at equal distances, in rising order; 1 of a single one.
std::optional<int64_t> StepOf(const std::vector<int64_t>& indices) {
  const int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  if (step < 1) return std::nullopt;
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) return std::nullopt;
  }
  return step;
}

// gather(x, known indices at equal distances) -> reshape(slice(x)).
Replacement GatherOfRun(Graph& graph, const Value& node) {
  if (node.op != Op::kGather || !IsConstant(graph, node.operands[1])) return std::nullopt;
  const Value& value = graph[node.operands[1]];
  const TensorType& x = graph[node.operands[0]].type;
  const auto axis = static_cast<size_t>(node.Int("axis"));
  if (value.type.NumElements() < 1 || value.type.NumElements() > x.dims[axis]) return std::nullopt;
  std::vector<int64_t> indices = ReadInts(*ConstantData(value));
  for (int64_t& index : indices) index += index < 0 ? x.dims[axis] : 0;
  const std::optional<int64_t> step = StepOf(indices);
  if (!step || indices.front() < 0 || indices.back() >= x.dims[axis]) return std::nullopt;
  Value slice;
  slice.op = Op::kSlice;
  slice.operands = {node.operands[0]};
  std::vector<int64_t> starts(x.dims.size(), 0), steps(x.dims.size(), 1);
  starts[axis] = indices.front();
  steps[axis] = *step;
  slice.attrs["starts"] = std::move(starts);
  slice.attrs["steps"] = std::move(steps);
  slice.type = {x.dtype, x.dims, {}};
  slice.type.dims[axis] = value.type.NumElements();
  const ValueId sliced = AddSimplified(graph, std::move(slice));
  return AddSimplified(graph, MakeReshape(graph, sliced, node.type.dims));
}

constexpr std::array<SimplifyRule, 10> kRules = {{
    {"no_movement", NoMovement},
    {"transpose_of_ones", TransposeOfOnes},
    {"double_transpose", DoubleTranspose},
    {"double_reshape", DoubleReshape},
    {"transpose_through_ones", TransposeThroughOnes},
    {"double_slice", DoubleSlice},
    {"double_expand", DoubleExpand},
    {"double_cast", DoubleCast},
    {"concat_of_nothing", ConcatOfNothing},
    {"gather_of_run", GatherOfRun},
}};

}  // namespace

std::span<const SimplifyRule> MovementRules() { return kRules; }

}  // namespace mlc::graph
