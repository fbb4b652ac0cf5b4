#include "compiler/graph/physical/sink_views.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/graph/physical/views.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;

bool IsPointwise(const Value& node) { return node.op == Op::kPointwise || node.op == Op::kCast; }

bool IsView(const Value& node) {
  return node.op == Op::kReshape || node.op == Op::kTranspose || node.op == Op::kSlice ||
         node.op == Op::kExpand;
}

int64_t ProductFrom(const Dims& dims, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < dims.size(); ++i) product *= dims[i];
  return product;
}

// `dims` is broadcast to `result`, a reshape of `source`: the dims that broadcast to `source` and
// read the same elements. Reshapes map groups of neighbours to groups; each is broadcast or whole.
std::optional<Dims> BroadcastBefore(const Dims& source, const Dims& result, const Dims& dims) {
  Dims padded(result.size() - dims.size(), 1);
  padded.insert(padded.end(), dims.begin(), dims.end());
  Dims before;
  size_t i = 0, j = 0;
  while (i < source.size() || j < result.size()) {
    const size_t first = i, from = j;
    int64_t left = i < source.size() ? source[i++] : 1;
    int64_t right = j < result.size() ? result[j++] : 1;
    while (left != right) {
      if (left < right ? i == source.size() : j == result.size()) return std::nullopt;
      if (left < right)
        left *= source[i++];
      else
        right *= result[j++];
    }
    const bool whole = std::equal(padded.begin() + static_cast<ptrdiff_t>(from),
                                  padded.begin() + static_cast<ptrdiff_t>(j),
                                  result.begin() + static_cast<ptrdiff_t>(from));
    const bool broadcast =
        std::all_of(padded.begin() + static_cast<ptrdiff_t>(from),
                    padded.begin() + static_cast<ptrdiff_t>(j), [](int64_t d) { return d == 1; });
    if (!whole && !broadcast) return std::nullopt;
    for (size_t d = first; d < i; ++d) before.push_back(whole ? source[d] : 1);
  }
  before.erase(before.begin(),
               std::find_if(before.begin(), before.end(), [](int64_t d) { return d != 1; }));
  return before;
}

// Rebuilds the graph node by node; views that meet pointwise nodes move below them on the way.
class Sinker {
 public:
  explicit Sinker(const Graph& from) : from_(from) {}

  Graph Run() {
    std::vector<ValueId> ids;
    for (ValueId id = 0; id < from_.size(); ++id) {
      Value node = from_[id];
      for (ValueId& operand : node.operands) {
        if (operand != kNoValue) operand = ids[static_cast<size_t>(operand)];
      }
      ids.push_back(Emit(std::move(node)));
    }
    for (ValueId output : from_.outputs()) {
      to_.outputs().push_back(ids[static_cast<size_t>(output)]);
    }
    to_.output_names() = from_.output_names();
    to_.Compact();
    return std::move(to_);
  }

 private:
  ValueId Emit(Value node) {
    if (node.op == Op::kReshape) return EmitReshape(std::move(node));
    if (!IsPointwise(node)) return to_.Add(std::move(node));
    for (ValueId operand : node.operands) {
      if (CanSink(node, operand)) return SinkThrough(std::move(node), operand);
    }
    return to_.Add(std::move(node));
  }

  // Reshapes of reshapes are one; a reshape to the same dims is none.
  ValueId EmitReshape(Value node) {
    ValueId source = node.operands[0];
    while (to_[source].op == Op::kReshape) source = to_[source].operands[0];
    if (to_[source].type.dims == node.type.dims) return source;
    node.operands = {source};
    return to_.Add(std::move(node));
  }

  ValueId SourceOf(ValueId view) const { return to_[view].operands[0]; }

  bool CanSink(const Value& node, ValueId operand) const {
    const Value& view = to_[operand];
    if (view.op != Op::kReshape && view.op != Op::kTranspose) return false;
    if (view.type.dims != node.type.dims) return false;
    const ValueId below = SourceOf(operand);
    // Images are the transposed pixels of a product: both views move, one after the other.
    const bool two = view.op == Op::kTranspose && to_[below].op == Op::kReshape;
    const Value& source = to_[two ? SourceOf(below) : below];
    if (IsSource(source) || IsView(source)) return false;
    return std::all_of(node.operands.begin(), node.operands.end(), [&](ValueId other) {
      if (other == operand) return true;
      if (!ComesBefore(other, operand)) return false;
      const std::optional<Dims> dims = InverseDims(view, to_[other].type.dims);
      if (!two || !dims) return dims.has_value();
      return ComesBefore(other, below) && InverseDims(to_[below], *dims).has_value();
    });
  }

  // Only the view of the value computed last moves: a residual add belongs to the later producer,
  // and no view moves back and forth.
  bool ComesBefore(ValueId other, ValueId view) const {
    ValueId root = other;
    while (IsView(to_[root])) root = to_[root].operands[0];
    if (root != SourceOf(view)) return root < SourceOf(view) || IsSource(to_[root]);
    return SourceOf(other) == root && to_[other].op == to_[view].op &&
           to_[other].attrs == to_[view].attrs;
  }

  // Dims of an operand of the sunk node that stands for one of `dims` beside the view's result.
  std::optional<Dims> InverseDims(const Value& view, const Dims& dims) const {
    const Dims& source = to_[view.operands[0]].type.dims;
    if (ProductFrom(dims, 0) == 1) return Dims{};
    if (dims == view.type.dims) return source;
    if (view.op == Op::kTranspose) return TransposedDims(view, dims);
    return BroadcastBefore(source, view.type.dims, dims);
  }

  static Dims TransposedDims(const Value& view, const Dims& dims) {
    const std::vector<int64_t>& perm = view.Ints("perm");
    Dims padded(perm.size() - dims.size(), 1);
    padded.insert(padded.end(), dims.begin(), dims.end());
    Dims result(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) result[static_cast<size_t>(perm[i])] = padded[i];
    return result;
  }

  ValueId SinkThrough(Value node, ValueId operand) {
    const Value view = to_[operand];
    const TensorType result = node.type;
    for (ValueId& other : node.operands) {
      other = other == operand ? view.operands[0] : Inverse(view, other);
    }
    node.type.dims = to_[view.operands[0]].type.dims;
    const std::string name = node.name;
    const ValueId sunk = Emit(std::move(node));
    Value moved = view;
    moved.operands = {sunk};
    moved.type = result;
    moved.name = name;
    return to_.Add(std::move(moved));
  }

  ValueId Inverse(const Value& view, ValueId operand) {
    const Dims dims = to_[operand].type.dims;
    const Dims target = *InverseDims(view, dims);
    if (view.op == Op::kReshape || target.empty()) return Reshaped(operand, target);
    const std::vector<int64_t>& perm = view.Ints("perm");
    Dims padded(perm.size() - dims.size(), 1);
    padded.insert(padded.end(), dims.begin(), dims.end());
    std::vector<int64_t> inverse(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) {
      inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    }
    const Value& from = to_[operand];
    if (from.op == Op::kTranspose && from.Ints("perm") == perm) return from.operands[0];
    Value transpose;
    transpose.op = Op::kTranspose;
    transpose.operands = {Reshaped(operand, padded)};
    transpose.attrs["perm"] = inverse;
    transpose.type = {to_[operand].type.dtype, target, {}};
    transpose.name = to_[operand].name;
    return to_.Add(std::move(transpose));
  }

  // A reshape, seen through reshapes; none if the dims agree already.
  ValueId Reshaped(ValueId operand, const Dims& dims) {
    while (to_[operand].op == Op::kReshape) operand = to_[operand].operands[0];
    if (to_[operand].type.dims == dims) return operand;
    if (to_[operand].op == Op::kConstant && !to_[operand].data) {
      Value splat = to_[operand];
      splat.type = {splat.type.dtype, dims, {}};
      return to_.Add(std::move(splat));
    }
    Value reshape;
    reshape.op = Op::kReshape;
    reshape.operands = {operand};
    reshape.type = {to_[operand].type.dtype, dims, {}};
    reshape.name = to_[operand].name;
    return to_.Add(std::move(reshape));
  }

  const Graph& from_;
  Graph to_;
};

}  // namespace

// A pass takes its graph.  NOLINTNEXTLINE(performance-unnecessary-value-param)
Result<Graph> SinkViews(Graph graph) { return Sinker(graph).Run(); }

}  // namespace mlc::graph
