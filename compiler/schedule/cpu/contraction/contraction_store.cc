#include "compiler/schedule/cpu/contraction/contraction_store.h"

#include <algorithm>

#include "compiler/schedule/cpu/cache_line.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

// Shorter reductions end before prefetched lines arrive.
constexpr int64_t kMinSteps = 32;

// Whether a pointwise node reads the value at the very point that it computes.
bool IsReadInPlace(const graph::Workload& workload, graph::ValueId value) {
  for (graph::ValueId id = 0; id < workload.graph().size(); ++id) {
    const graph::Value& node = workload.graph()[id];
    if (node.op != graph::Op::kPointwise) continue;
    if (node.type.dims != workload.graph()[value].type.dims) continue;
    if (std::count(node.operands.begin(), node.operands.end(), value) > 0) return true;
  }
  return false;
}

// Operands of the anchor's shape that the epilogue reads, with columns side by side, beyond so many
// bytes.
std::vector<int> StreamsOf(const graph::Workload& workload, graph::ValueId anchor, int column,
                           int64_t beyond_bytes) {
  std::vector<int> streams;
  const auto& operands = workload.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    const graph::TensorType& type = workload.graph()[operands[i]].type;
    if (type.dims != workload.graph()[anchor].type.dims) continue;
    if (type.EffectiveStrides()[static_cast<size_t>(column)] != 1) continue;
    if (type.Extent() * SizeOf(type.dtype) <= beyond_bytes) continue;
    if (IsReadInPlace(workload, operands[i])) streams.push_back(static_cast<int>(i));
  }
  return streams;
}

}  // namespace

ContractionStore::ContractionStore(const graph::Workload& workload,
                                   const ContractionProblem& problem, const ContractionPlan& plan,
                                   Fused& fused, RegisterTile& registers,
                                   ir::KernelBuilder& builder)
    : workload_(workload),
      p_(problem),
      plan_(plan),
      fused_(fused),
      registers_(registers),
      builder_(builder),
      one_column_(
          workload.graph()[problem.anchor].type.dims[static_cast<size_t>(problem.column_dim)] ==
          1) {
  if (p_.K() < kMinSteps) return;
  streams_ = StreamsOf(workload, p_.anchor, p_.column_dim, plan.fetched_beyond_bytes);
}

void ContractionStore::Fetch(const RowTile& tile, const ContractionChunk& chunk,
                             const ExprRef& panel) {
  for (const int stream : streams_) {
    const graph::ValueId id = workload_.operands()[static_cast<size_t>(stream)];
    const graph::TensorType& type = workload_.graph()[id].type;
    const int64_t line = kCacheLineBytes / SizeOf(type.dtype);
    builder_.Unrolled("o", tile.outer_rows(), [&](const ExprRef& o) {
      builder_.Unrolled("i", tile.inner->rows, [&](const ExprRef& i) {
        builder_.Unrolled("l", (plan_.panel_width() + line - 1) / line, [&](const ExprRef& l) {
          const ExprRef column = panel * plan_.panel_width() + l * line;
          builder_.Prefetch(fused_.OperandBuffer(stream),
                            fused_.Offset(type, PointOf(tile, chunk, o, i, column).at), 1);
        });
      });
    });
  }
}

void ContractionStore::Store(const RowTile& tile, const ContractionChunk& chunk,
                             const ExprRef& panel) {
  const int64_t width = plan_.panel_width();
  const int64_t tail = p_.columns - (plan_.panels - 1) * width;
  if (tail == width || plan_.panels == 1) return StoreRows(tile, chunk, panel, tail);
  builder_.If(
      ir::MakeApply(ScalarOp::kLess, {panel, Int(plan_.panels - 1)}),
      [&] { StoreRows(tile, chunk, panel, width); }, [&] { StoreRows(tile, chunk, panel, tail); });
}

void ContractionStore::StoreRows(const RowTile& tile, const ContractionChunk& chunk,
                                 const ExprRef& panel, int64_t columns) {
  const int64_t full = columns / plan_.lanes;
  const int64_t rest = columns % plan_.lanes;
  builder_.Unrolled("o", tile.outer_rows(), [&](const ExprRef& o) {
    builder_.Unrolled("i", tile.inner->rows, [&](const ExprRef& i) {
      builder_.Unrolled(
          "v", full, [&](const ExprRef& v) { StoreVector(tile, chunk, panel, o, i, v, nullptr); });
      if (rest > 0) StoreVector(tile, chunk, panel, o, i, Int(full), Int(rest));
    });
  });
}

Point ContractionStore::PointOf(const RowTile& tile, const ContractionChunk& chunk,
                                const ExprRef& row_outer, const ExprRef& row_inner,
                                const ExprRef& column) const {
  Point point;
  point.at = chunk.at;
  if (p_.outer[1].dim >= 0) {
    point.at[static_cast<size_t>(p_.outer[1].dim)] = tile.outer_at + row_outer;
  }
  point.at[static_cast<size_t>(p_.inner.dim)] = tile.inner_at + row_inner;
  point.at[static_cast<size_t>(p_.column_dim)] = chunk.column_group + column;
  return point;
}

void ContractionStore::StoreVector(const RowTile& tile, const ContractionChunk& chunk,
                                   const ExprRef& panel, const ExprRef& row_outer,
                                   const ExprRef& row_inner, const ExprRef& vector,
                                   const ExprRef& active) {
  Point point = PointOf(tile, chunk, row_outer, row_inner,
                        panel * plan_.panel_width() + vector * int64_t{plan_.lanes});
  ExprRef value = registers_.Get(row_outer * int64_t{tile.inner->rows} + row_inner, vector);
  if (one_column_) {
    // The other lanes are products with zeros.
    value = ir::MakeReduce(ScalarOp::kAdd, value);
  } else {
    point.dim = p_.column_dim;
    point.lanes = plan_.lanes;
    point.active = active;
  }
  fused_.StoreOutputs(point, {{p_.anchor, value}});
}

}  // namespace mlc::schedule
