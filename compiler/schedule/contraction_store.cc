#include "compiler/schedule/contraction_store.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

ContractionStore::ContractionStore(const graph::Workload& workload,
                                   const ContractionProblem& problem, const ContractionPlan& plan,
                                   Fused& fused, RegisterTile& registers,
                                   ir::KernelBuilder& builder)
    : p_(problem),
      plan_(plan),
      fused_(fused),
      registers_(registers),
      builder_(builder),
      one_column_(
          workload.graph()[problem.anchor].type.dims[static_cast<size_t>(problem.column_dim)] ==
          1) {}

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

void ContractionStore::StoreVector(const RowTile& tile, const ContractionChunk& chunk,
                                   const ExprRef& panel, const ExprRef& row_outer,
                                   const ExprRef& row_inner, const ExprRef& vector,
                                   const ExprRef& active) {
  Point point;
  point.at = chunk.at;
  if (p_.outer[1].dim >= 0) {
    point.at[static_cast<size_t>(p_.outer[1].dim)] = tile.outer_at + row_outer;
  }
  point.at[static_cast<size_t>(p_.inner.dim)] = tile.inner_at + row_inner;
  point.at[static_cast<size_t>(p_.column_dim)] =
      chunk.column_group + panel * plan_.panel_width() + vector * int64_t{plan_.lanes};
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
