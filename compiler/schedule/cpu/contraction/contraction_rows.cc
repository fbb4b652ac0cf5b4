#include "compiler/schedule/cpu/contraction/contraction_rows.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

ContractionRows::ContractionRows(const ContractionProblem& problem, const ContractionPlan& plan,
                                 ir::BufferId rows, RowTiles& tiles, ir::KernelBuilder& builder)
    : p_(problem), plan_(plan), rows_(rows), tiles_(tiles), builder_(builder) {
  if (plan.stage) {
    staged_ = builder.Thread("rows", problem.SumType(), StagedElements(problem, plan));
  }
}

ExprRef ContractionRows::InPlace(const RowTile& tile, const ContractionChunk& chunk,
                                 const ExprRef& pass) const {
  return chunk.row_batch + tiles_.Base(tile, chunk.depth_at) +
         pass * (plan_.k_chunk * p_.row_k_stride);
}

ExprRef ContractionRows::Base(const RowTile& tile, const ContractionChunk& chunk,
                              const ExprRef& pass) const {
  return plan_.stage ? RowOf(p_, tile) * plan_.pitch(p_) : InPlace(tile, chunk, pass);
}

RowOperand ContractionRows::From(const ExprRef& base) const {
  if (plan_.stage) {
    return {staged_, p_.SumType(), base, p_.inner.out * plan_.pitch(p_), plan_.pitch(p_), 1};
  }
  return {rows_,
          p_.row_dtype,
          base,
          p_.outer[1].stride * p_.outer[1].row_stride,
          p_.inner.stride * p_.inner.row_stride,
          p_.row_k_stride,
          p_.rows_by_byte ? p_.row_byte_stride : 0};
}

void ContractionRows::Stage(const ContractionChunk& chunk, const ExprRef& pass) {
  if (!plan_.stage) return;
  tiles_.ForEach(chunk.row_chunk, plan_.row_chunks, [&](const RowTile& tile) {
    StageTile(tile, builder_.Let("from", InPlace(tile, chunk, pass)));
  });
}

void ContractionRows::StageTile(const RowTile& tile, const ExprRef& from) {
  const int64_t depth = plan_.pass_depth(p_);
  const int64_t whole = depth / plan_.lanes;
  const int64_t rest = depth % plan_.lanes;
  const ExprRef to = builder_.Let("to", RowOf(p_, tile) * plan_.pitch(p_));
  const auto copy = [&](const ExprRef& o, const ExprRef& i, const ExprRef& v,
                        const ExprRef& active) {
    ExprRef value = builder_.Load(rows_,
                                  from + o * (p_.outer[1].stride * p_.outer[1].row_stride) +
                                      i * (p_.inner.stride * p_.inner.row_stride) +
                                      v * (plan_.lanes * p_.row_k_stride),
                                  plan_.lanes, p_.row_k_stride, active);
    if (p_.row_dtype != p_.SumType()) value = ir::MakeCast(p_.SumType(), value);
    builder_.Store(staged_, to + (o * p_.inner.out + i) * plan_.pitch(p_) + v * plan_.lanes, value);
  };
  builder_.For("o", tile.outer_rows(), [&](const ExprRef& o) {
    builder_.For("i", tile.inner->rows, [&](const ExprRef& i) {
      builder_.For("v", whole, [&](const ExprRef& v) { copy(o, i, v, nullptr); });
      if (rest > 0) copy(o, i, Int(whole), Int(rest));
    });
  });
}

}  // namespace mlc::schedule
