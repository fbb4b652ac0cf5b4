#include "compiler/graph/passes/recognize_rotary.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/passes/regroup.h"
#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

// A part of a tensor, from `start` of the last dimension, all of the others.
struct Part {
  ValueId of = kNoValue;
  int64_t start = 0;
};

Part PartOf(const Graph& graph, ValueId id) {
  const Value& node = graph[id];
  if (node.op != Op::kSlice) return {id, 0};
  const Dims& starts = node.Ints("starts");
  const Dims& steps = node.Ints("steps");
  const Dims& dims = graph[node.operands[0]].type.dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool last = i + 1 == dims.size();
    if (steps[i] != 1 || (!last && (starts[i] != 0 || node.type.dims[i] != dims[i]))) {
      return {id, 0};
    }
  }
  return {node.operands[0], starts.empty() ? 0 : starts.back()};
}

// Whether `id` is [-second half, first half] of `x`.
bool IsRotated(const Graph& graph, ValueId id, ValueId x) {
  const Value& concat = graph[id];
  const int64_t width = concat.type.dims.back();
  if (concat.op != Op::kConcat || concat.operands.size() != 2 || width % 2 != 0) return false;
  if (concat.Int("axis") != concat.type.rank() - 1) return false;
  const ValueId negated = concat.operands[0];
  if (!IsScalarOp(graph, negated, ScalarOp::kNeg)) return false;
  const Part second = PartOf(graph, graph[negated].operands[0]);
  const Part first = PartOf(graph, concat.operands[1]);
  const Part whole = PartOf(graph, x);
  return graph[negated].type.dims.back() == width / 2 && first.of == whole.of &&
         second.of == whole.of && first.start == whole.start &&
         second.start == whole.start + width / 2;
}

struct Rotary {
  ValueId x = kNoValue;
  ValueId cosine = kNoValue;
  ValueId sine = kNoValue;
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
          rewriter.Uses(rotated) != 1 || !IsRotated(graph, rotated, x)) {
        continue;
      }
      return Rotary{x, graph[plain].operands[1 - j % 2], graph[turned].operands[1 - j / 2]};
    }
  }
  return std::nullopt;
}

// The last dimension as halves, if there is one of that size.
ValueId Halves(Graph& graph, ValueId x, int64_t width) {
  Dims dims = graph[x].type.dims;
  if (dims.empty()) return x;
  const bool one = dims.back() == 1;
  dims.back() = one ? 1 : 2;
  dims.push_back(one ? 1 : width / 2);
  return SimplifiedReshape(graph, x, std::move(dims));
}

ValueId Visit(Rewriter& rewriter, const Value& node) {
  Graph& graph = rewriter.out();
  const std::optional<Rotary> rotary = Match(rewriter, graph, node);
  if (!rotary) return graph.Add(node);
  const DType dtype = node.type.dtype;
  const int64_t width = node.type.dims.back();
  const ValueId x = Halves(graph, rotary->x, width);
  Value flip;
  flip.op = Op::kSlice;
  flip.operands = {x};
  flip.type = {dtype, graph[x].type.dims, {}};
  Dims starts(flip.type.dims.size(), 0), steps(flip.type.dims.size(), 1);
  starts[starts.size() - 2] = 1;
  steps[steps.size() - 2] = -1;
  flip.attrs["starts"] = std::move(starts);
  flip.attrs["steps"] = std::move(steps);
  const ValueId flipped = AddNode(graph, std::move(flip));
  const ValueId sign = graph.Constant(WriteDoubles(dtype, {2, 1}, std::vector<double>{-1, 1}));
  const ValueId sine =
      SimplifiedPointwise(graph, ScalarOp::kMul, {Halves(graph, rotary->sine, width), sign});
  const ValueId plain =
      SimplifiedPointwise(graph, ScalarOp::kMul, {x, Halves(graph, rotary->cosine, width)});
  const ValueId turned = SimplifiedPointwise(graph, ScalarOp::kMul, {flipped, sine});
  const ValueId y = SimplifiedPointwise(graph, ScalarOp::kAdd, {plain, turned});
  return SimplifiedReshape(graph, y, node.type.dims);
}

}  // namespace

Result<bool> RecognizeRotary(Graph& graph) { return Rewriter::Run(graph, Visit); }

}  // namespace mlc::graph
