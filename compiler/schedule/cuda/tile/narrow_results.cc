#include "compiler/schedule/cuda/tile/narrow_results.h"

#include <algorithm>
#include <vector>

#include "compiler/schedule/cuda/tile/gpu_tile.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

namespace {

// Whether runs of `lanes` columns are neighbours and begin at multiples of as many.
bool HasRuns(const graph::TensorType& type, int column, int lanes) {
  const std::vector<int64_t> strides = type.EffectiveStrides();
  for (size_t d = 0; d < strides.size(); ++d) {
    const bool is_column = d == static_cast<size_t>(column);
    if (is_column ? strides[d] != 1 : type.dims[d] != 1 && strides[d] % lanes != 0) return false;
  }
  return true;
}

// What of an output may lie in shared memory.
graph::ValueId HeldOf(const graph::Graph& graph, graph::ValueId output) {
  const graph::Value& node = graph[output];
  if (!IsFloat8(node.type.dtype) || node.op != graph::Op::kCast) return output;
  return SizeOf(graph[node.operands[0]].type.dtype) == 2 ? node.operands[0] : output;
}

}  // namespace

NarrowResults NarrowResultsOf(const graph::Workload& workload, const GpuContraction& g) {
  const graph::Graph& graph = workload.graph();
  if (workload.outputs().size() != 1) return {};
  const graph::ValueId output = workload.outputs()[0];
  const graph::TensorType& type = graph[output].type;
  const auto column = static_cast<size_t>(g.p.column_dim);
  const graph::ValueId held = HeldOf(graph, output);
  const DType dtype = graph[held].type.dtype;
  const bool bytes = dtype == DType::kU8 || dtype == DType::kI8;
  const bool narrow = (SizeOf(dtype) == 2 || bytes) && SizeOf(g.p.row_dtype) <= 2;
  // Of tf32: they are as wide as their sums, but may be carried all the same.
  const bool wide = dtype == DType::kF32 && g.p.row_dtype == DType::kF32;
  if (!narrow && !wide) return {};
  if (type.EffectiveStrides()[column] != 1 || graph[g.p.anchor].type.dims[column] == 1) return {};
  NarrowResults results;
  results.held = held;
  results.bytes = SizeOf(dtype);
  std::vector<graph::ValueId> given = {g.p.anchor};
  const auto users = graph.Users();
  for (size_t i = 0; i < workload.operands().size(); ++i) {
    const graph::ValueId id = workload.operands()[i];
    const auto& readers = users[static_cast<size_t>(id)];
    if (std::all_of(readers.begin(), readers.end(),
                    [&](graph::ValueId r) { return r == g.p.anchor; })) {
      continue;
    }
    const graph::TensorType& read = graph[id].type;
    const int at = g.p.column_dim - (g.p.rank - read.rank());
    const int64_t columns = at < 0 ? 1 : read.dims[static_cast<size_t>(at)];
    if (read.NumElements() == columns) continue;
    const bool alike = read.dtype == dtype && read.dims == type.dims &&
                       HasRuns(read, g.p.column_dim, results.lanes());
    if (!alike || results.guest) return {};
    results.guest = static_cast<int>(i);
    given.push_back(id);
  }
  results.narrow = Fused::Vectorises(workload, held, g.p.column_dim, 2, given);
  return results;
}

}  // namespace mlc::schedule
