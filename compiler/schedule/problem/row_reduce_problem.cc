#include "compiler/schedule/problem/row_reduce_problem.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "compiler/schedule/fusion/fused.h"
#include "compiler/schedule/fusion/fused_rows.h"
#include "compiler/schedule/problem/pointwise_piece.h"

namespace mlc::schedule {

using graph::Graph;
using graph::Op;
using graph::TensorType;
using graph::Value;
using graph::ValueId;
using graph::Workload;

namespace {

bool IsRowOp(Op op) {
  return op == Op::kSoftmax || op == Op::kLogSoftmax || op == Op::kLayerNorm || op == Op::kReduce;
}

std::vector<int> ReducedAxes(const Value& node, int rank) {
  std::vector<int> axes;
  if (node.op == Op::kReduce) {
    for (int64_t axis : node.Ints("axes")) axes.push_back(static_cast<int>(axis));
  } else {
    const int axis = static_cast<int>(node.Int("axis"));
    axes.push_back(axis);
    for (int d = axis + 1; node.op == Op::kLayerNorm && d < rank; ++d) axes.push_back(d);
  }
  return axes;
}

bool SupportsType(const Value& node, DType dtype) {
  if (IsFloat(dtype)) return true;
  if (node.op != Op::kReduce || dtype == DType::kBool) return false;
  const std::string& kind = node.Word("kind");
  return kind != "mean" && kind != "l2" && kind != "log_sum_exp";
}

// Values by depth, each once: what is read twice at each of many steps would be walked for ever.
class Walk {
 public:
  Walk(const Graph& graph, std::vector<ValueId> from)
      : stack_(std::move(from)), seen_(static_cast<size_t>(graph.size()), false) {}

  // kNoValue at the end.
  ValueId Next() {
    while (!stack_.empty()) {
      const ValueId id = stack_.back();
      stack_.pop_back();
      if (id == graph::kNoValue || seen_[static_cast<size_t>(id)]) continue;
      seen_[static_cast<size_t>(id)] = true;
      return id;
    }
    return graph::kNoValue;
  }
  // The first operand comes next.
  void Into(const Value& node) {
    stack_.insert(stack_.end(), node.operands.rbegin(), node.operands.rend());
  }

 private:
  std::vector<ValueId> stack_;
  std::vector<bool> seen_;
};

// The type whose strides tell how x lies in memory: the first source of x's own shape.
TensorType LayoutOf(const Graph& graph, ValueId x) {
  Walk walk(graph, {x});
  for (ValueId id = walk.Next(); id != graph::kNoValue; id = walk.Next()) {
    const Value& node = graph[id];
    if (node.type.dims != graph[x].type.dims) continue;
    if (node.op == Op::kInput || node.op == Op::kWeight || node.op == Op::kView) return node.type;
    if (node.op != Op::kPointwise && node.op != Op::kCast && node.op != Op::kCopy) continue;
    walk.Into(node);
  }
  return graph[x].type;
}

// Inputs of x's dims that are read at x's own coordinates.
std::vector<ValueId> StreamsOf(const Graph& graph, ValueId x) {
  std::vector<ValueId> streams;
  Walk walk(graph, {x});
  for (ValueId id = walk.Next(); id != graph::kNoValue; id = walk.Next()) {
    const Value& node = graph[id];
    if (node.type.dims != graph[x].type.dims) continue;
    if (node.op == Op::kInput) streams.push_back(id);
    if (node.op != Op::kPointwise && node.op != Op::kCast && node.op != Op::kCopy) continue;
    walk.Into(node);
  }
  return streams;
}

bool OutputsFit(const Workload& workload, ValueId anchor, RowProblem& problem) {
  const Graph& graph = workload.graph();
  const ValueId anchors[] = {anchor};
  for (ValueId output : workload.outputs()) {
    if (graph[output].type.dims != graph[anchor].type.dims) return false;
    if (!Fused::Covers(workload, output, anchors)) return false;
  }
  // Does an output reach x other than through the anchor?
  Walk walk(graph, workload.outputs());
  for (ValueId id = walk.Next(); id != graph::kNoValue; id = walk.Next()) {
    if (id == anchor) continue;
    problem.needs_x = problem.needs_x || id == problem.x;
    walk.Into(graph[id]);
  }
  return true;
}

// The dimension of the anchor's result that dimension `d` of x becomes; -1 where it is dropped.
int ResultDim(const RowProblem& problem, const Value& anchor, const std::vector<int>& axes, int d) {
  if (problem.same_space || anchor.Int("keepdims") != 0) return d;
  int result = 0;
  for (int k = 0; k < d; ++k) result += std::find(axes.begin(), axes.end(), k) == axes.end();
  return result;
}

bool VectorisesAlong(const Workload& workload, const RowProblem& problem,
                     const std::vector<int>& axes, int column, int lanes) {
  const Value& anchor = workload.graph()[problem.anchor];
  if (!Fused::Vectorises(workload, problem.x, column, lanes)) return false;
  for (size_t i = 1; i < anchor.operands.size(); ++i) {
    if (anchor.operands[i] == graph::kNoValue) continue;
    const int rank = workload.graph()[anchor.operands[i]].type.rank();
    const int d = column - (static_cast<int>(problem.dims.size()) - rank);
    if (d >= 0 && !Fused::Vectorises(workload, anchor.operands[i], d, lanes)) return false;
  }
  const bool result_is_scalar = !problem.same_space && problem.inner;
  if (result_is_scalar) return true;
  const ValueId anchors[] = {problem.anchor};
  const int d = ResultDim(problem, anchor, axes, column);
  return std::all_of(workload.outputs().begin(), workload.outputs().end(), [&](ValueId output) {
    return Fused::Vectorises(workload, output, d, lanes, anchors);
  });
}

// Where the innermost dimension fills few lanes, and the result lies in another order anyway, the
// dimension that lanes run along instead. If the innermost is kept: the longest reduced one. If it
// is all that is reduced: the kept one that is innermost in the result, so that every lane is a
// row.
int FillingColumn(const Workload& workload, const RowProblem& problem, const std::vector<int>& axes,
                  int lanes) {
  const auto size = [&](int d) { return problem.dims[static_cast<size_t>(d)]; };
  const auto is_reduced = [&](int d) {
    return std::find(axes.begin(), axes.end(), d) != axes.end();
  };
  if (!problem.same_space || size(problem.column) * 2 > lanes) return problem.column;
  const int stored = OrderByStride(workload.graph()[workload.outputs()[0]].type).back();
  const bool short_rows = is_reduced(problem.column);
  if (stored == problem.column || (short_rows && axes.size() > 1)) return problem.column;
  const auto fills = [&](int d) { return is_reduced(d) != short_rows && size(d) >= lanes; };
  if (fills(stored)) return stored;
  if (short_rows) return problem.column;
  int longest = problem.column;
  for (int d = 0; d < static_cast<int>(problem.dims.size()); ++d) {
    if (fills(d) && (longest == problem.column || size(d) > size(longest))) longest = d;
  }
  return longest;
}

// `fill`: lanes may run across memory rather than stay idle.
std::optional<RowProblem> Find(const Workload& workload, int lanes, bool fill) {
  const Graph& graph = workload.graph();
  ValueId anchor = graph::kNoValue;
  for (ValueId id = 0; id < graph.size(); ++id) {
    if (!IsRowOp(graph[id].op)) continue;
    if (anchor != graph::kNoValue) return std::nullopt;
    anchor = id;
  }
  if (anchor == graph::kNoValue) return std::nullopt;
  const Value& node = graph[anchor];
  for (ValueId operand : node.operands) {
    if (operand != graph::kNoValue && !Fused::Covers(workload, operand, {})) return std::nullopt;
  }
  RowProblem problem;
  problem.anchor = anchor;
  problem.x = node.operands[0];
  const Value& x = graph[problem.x];
  problem.dims = x.type.dims;
  if (problem.dims.empty() || x.type.NumElements() == 0) return std::nullopt;
  problem.dtype = ComputeType(x.type.dtype);
  problem.same_space = node.op != Op::kReduce;
  problem.computed = x.op != Op::kInput && x.op != Op::kWeight && x.op != Op::kView;
  if (!SupportsType(node, x.type.dtype) || !OutputsFit(workload, anchor, problem)) {
    return std::nullopt;
  }
  const std::vector<int> axes = ReducedAxes(node, x.type.rank());
  problem.streams = StreamsOf(graph, problem.x);
  const TensorType layout = LayoutOf(graph, problem.x);
  const std::vector<int> order = OrderByStride(layout);
  const auto is_reduced = [&](int d) {
    return std::find(axes.begin(), axes.end(), d) != axes.end();
  };
  problem.column = order.back();
  if (problem.dims[static_cast<size_t>(problem.column)] == 1) problem.column = -1;
  if (fill && problem.column >= 0) {
    const int across = FillingColumn(workload, problem, axes, lanes);
    problem.inner = is_reduced(across);
    const bool moves = across != problem.column;
    if (moves && VectorisesAlong(workload, problem, axes, across, lanes)) problem.column = across;
  }
  problem.inner = problem.column < 0 || is_reduced(problem.column);
  for (int d : order) {
    if (d == problem.column) continue;
    (is_reduced(d) ? problem.reduced : problem.kept).push_back(d);
  }
  problem.plain = problem.inner && problem.column >= 0 && !problem.computed &&
                  x.type.dtype == problem.dtype &&
                  layout.EffectiveStrides()[static_cast<size_t>(problem.column)] == 1;
  if (lanes > 1 && problem.column >= 0 &&
      VectorisesAlong(workload, problem, axes, problem.column, lanes)) {
    problem.lanes = lanes;
  }
  return problem;
}

// A search asks for each of thousands of configs, and to find the problem everything fused is
// emitted: 0.4 ms for 300 operators, as long as the rest of a config takes a hundred times. So a
// thread keeps the last few, by all that they depend on.
std::optional<RowProblem> Known(const Workload& workload, int lanes, bool fill) {
  struct Entry {
    Digest workload;
    int lanes = 0;
    bool fill = false;
    std::optional<RowProblem> problem;
  };
  constexpr size_t kKept = 8;
  static thread_local std::array<Entry, kKept> entries;
  static thread_local size_t oldest = 0;
  for (const Entry& entry : entries) {
    if (entry.lanes == lanes && entry.fill == fill && entry.workload == workload.digest()) {
      return entry.problem;
    }
  }
  Entry found{workload.digest(), lanes, fill, Find(workload, lanes, fill)};
  std::optional<RowProblem> problem = found.problem;
  entries[std::exchange(oldest, (oldest + 1) % kKept)] = std::move(found);
  return problem;
}

}  // namespace

int64_t RowProblem::Rows() const { return RowCount(kept, dims); }
int64_t RowProblem::Reduced() const { return RowCount(reduced, dims); }
int64_t RowProblem::Columns() const { return column < 0 ? 1 : dims[static_cast<size_t>(column)]; }

std::optional<RowProblem> FindRowProblem(const Workload& workload, const target::Target& target) {
  return Known(workload, target.cpu().Lanes(DType::kF32), true);
}

std::optional<RowProblem> FindRowProblem(const Workload& workload, int lanes) {
  return Known(workload, lanes, false);
}

}  // namespace mlc::schedule
