// Assignments to a box of a tensor, which exporters write as scatters of computed indices.
#include <array>
#include <iterator>
#include <utility>

#include "compiler/graph/passes/rewrite.h"
#include "compiler/graph/passes/simplify.h"
#include "compiler/graph/tensor_io.h"

namespace mlc::graph {

namespace {

using Dims = std::vector<int64_t>;
using Replacement = std::optional<ValueId>;

// The constant that an index component repeats, its dims aligned with those of `box`; null if it
// is computed otherwise. The component has one dimension of size one more.
struct Repeated {
  ValueId constant = kNoValue;
  Dims dims;
};
std::optional<Repeated> RepeatedBy(const Graph& graph, ValueId component, const Dims& box) {
  bool extra = true;  // the last dimension is the component's own
  for (;; component = graph[component].operands[0]) {
    const Dims& dims = graph[component].type.dims;
    if (IsConstant(graph, component)) {
      Dims padded = dims;
      if (extra && !padded.empty()) padded.pop_back();
      if (padded.size() > box.size()) return std::nullopt;
      padded.insert(padded.begin(), box.size() - padded.size(), 1);
      return Repeated{component, std::move(padded)};
    }
    if (IsOp(graph, component, Op::kExpand)) continue;
    if (!IsOp(graph, component, Op::kReshape)) return std::nullopt;
    Dims longer = graph[graph[component].operands[0]].type.dims;
    longer.push_back(1);
    if (!extra || longer != dims) return std::nullopt;
    extra = false;
  }
}

// The first index along dimension d, if the component counts from there along d alone.
std::optional<int64_t> StartAlong(const Graph& graph, ValueId component, size_t d,
                                  const Dims& box) {
  const std::optional<Repeated> from = RepeatedBy(graph, component, box);
  if (!from) return std::nullopt;
  if (const std::optional<double> splat = SplatOf(graph, from->constant); splat && box[d] == 1) {
    return static_cast<int64_t>(*splat);
  }
  for (size_t i = 0; i < box.size(); ++i) {
    if (from->dims[i] != (i == d ? box[d] : 1)) return std::nullopt;
  }
  const TensorDataRef data = ConstantData(graph[from->constant]);
  if (data == nullptr) return std::nullopt;
  const int64_t start = ReadInt(*data, 0);
  for (int64_t i = 1; i < box[d]; ++i) {
    if (ReadInt(*data, i) != start + i) return std::nullopt;
  }
  return start;
}

// Where a box of known indices begins; null if they are none.
std::optional<Dims> StartsOfConstant(const TensorData& indices, const Dims& box) {
  const auto rank = static_cast<int64_t>(box.size());
  Dims starts;
  for (int64_t d = 0; d < rank; ++d) starts.push_back(ReadInt(indices, d));
  int64_t points = 1;
  for (const int64_t size : box) points *= size;
  int64_t inner = points;  // of the dimensions behind d
  for (int64_t d = 0; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    inner /= box[at];
    for (int64_t point = 0; point < points; ++point) {
      const int64_t along = point / inner % box[at];
      if (ReadInt(indices, point * rank + d) != starts[at] + along) return std::nullopt;
    }
  }
  return starts;
}

std::optional<Dims> StartsOf(const Graph& graph, ValueId id, const Dims& box) {
  const Value& indices = graph[id];
  if (IsConstant(graph, id)) {
    const TensorDataRef data = ConstantData(indices);
    return data == nullptr ? std::nullopt : StartsOfConstant(*data, box);
  }
  const bool along_last =
      indices.op == Op::kConcat && indices.Int("axis") == static_cast<int64_t>(box.size());
  if (!along_last || indices.operands.size() != box.size()) return std::nullopt;
  Dims starts;
  for (size_t d = 0; d < box.size(); ++d) {
    const std::optional<int64_t> start = StartAlong(graph, indices.operands[d], d, box);
    if (!start) return std::nullopt;
    starts.push_back(*start);
  }
  return starts;
}

ValueId Cut(Graph& graph, ValueId x, const Dims& starts, const Dims& dims) {
  Value slice;
  slice.op = Op::kSlice;
  slice.operands = {x};
  slice.attrs["starts"] = starts;
  slice.attrs["steps"] = Dims(dims.size(), 1);
  slice.type = {graph[x].type.dtype, dims, {}};
  return AddSimplified(graph, std::move(slice));
}

// Pieces of `data` around `inner` along dimension d; the box has been widened behind d already.
ValueId Framed(Graph& graph, ValueId data, ValueId inner, size_t d, const Dims& starts) {
  const int64_t whole = graph[data].type.dims[d];
  Dims from(graph[data].type.dims.size(), 0);
  for (size_t i = 0; i < d; ++i) from[i] = starts[i];
  Dims dims = graph[inner].type.dims;
  const int64_t end = starts[d] + dims[d];
  Value concat;
  concat.op = Op::kConcat;
  concat.attrs["axis"] = static_cast<int64_t>(d);
  if (starts[d] > 0) {
    dims[d] = starts[d];
    concat.operands.push_back(Cut(graph, data, from, dims));
  }
  concat.operands.push_back(inner);
  if (end < whole) {
    from[d] = end;
    dims[d] = whole - end;
    concat.operands.push_back(Cut(graph, data, from, dims));
  }
  return AddSimplified(graph, std::move(concat));
}

// scatter_nd of indices that count along their own dimensions -> slices around the updates.
Replacement ScatterToBox(Graph& graph, const Value& node) {
  if (node.op != Op::kScatterND || node.Word("reduction") != "none") return std::nullopt;
  Dims box = graph[node.operands[1]].type.dims;
  const int64_t rank = box.back();
  box.pop_back();
  if (graph[node.operands[1]].type.NumElements() == 0 || rank != std::ssize(box)) {
    return std::nullopt;
  }
  std::optional<Dims> starts = StartsOf(graph, node.operands[1], box);
  if (!starts) return std::nullopt;
  const ValueId data = node.operands[0];
  for (size_t d = 0; d < box.size(); ++d) {
    const int64_t size = graph[data].type.dims[d];
    int64_t& start = (*starts)[d];
    if (start < 0) start += size;
    if (start < 0 || start + box[d] > size) return std::nullopt;
  }
  ValueId result = node.operands[2];
  for (size_t d = box.size(); d-- > 0;) result = Framed(graph, data, result, d, *starts);
  return result;
}

constexpr std::array<SimplifyRule, 1> kRules = {{{"scatter_to_box", ScatterToBox}}};

}  // namespace

std::span<const SimplifyRule> ScatterRules() { return kRules; }

}  // namespace mlc::graph
