#include "compiler/schedule/cpu/contraction/contraction_partial.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

PartialSums::PartialSums(const ContractionProblem& problem, const ContractionPlan& plan,
                         RegisterTile& registers, ir::KernelBuilder& builder)
    : p_(problem), plan_(plan), registers_(registers), builder_(builder) {
  if (plan.k_chunk > 0) {
    scratch_ = builder.Thread("partial", problem.SumType(), PartialElements(problem, plan));
  }
}

void PartialSums::Locate(const RowTile& tile, const ExprRef& panel) {
  if (plan_.k_chunk == 0) return;
  const ExprRef row = RowOf(p_, tile);
  first_ =
      builder_.Let("part", (panel * (p_.outer[1].out * p_.inner.out) + row) * plan_.panel_width());
}

void PartialSums::ForVectors(
    const RowTile& tile,
    const std::function<void(const ExprRef&, const ExprRef&, const ExprRef&)>& body) {
  builder_.Unrolled("o", tile.outer_rows(), [&](const ExprRef& o) {
    builder_.Unrolled("i", tile.inner->rows, [&](const ExprRef& i) {
      builder_.Unrolled("v", plan_.vectors, [&](const ExprRef& v) {
        body(o * int64_t{tile.inner->rows} + i, v,
             first_ + (o * p_.inner.out + i) * plan_.panel_width() + v * int64_t{plan_.lanes});
      });
    });
  });
}

void PartialSums::Start(const RowTile& tile, const ExprRef& pass) {
  if (plan_.k_chunk == 0) return registers_.Zero(tile.rows());
  builder_.If(
      ir::MakeApply(ScalarOp::kEqual, {pass, Int(0)}), [&] { registers_.Zero(tile.rows()); },
      [&] {
        ForVectors(tile, [&](const ExprRef& row, const ExprRef& vector, const ExprRef& at) {
          registers_.Set(row, vector, builder_.Load(scratch_, at, plan_.lanes));
        });
      });
}

void PartialSums::Finish(const RowTile& tile, const ExprRef& pass,
                         const std::function<void()>& store) {
  if (plan_.k_chunk == 0) return store();
  builder_.If(ir::MakeApply(ScalarOp::kEqual, {pass, Int(plan_.passes(p_) - 1)}), store, [&] {
    ForVectors(tile, [&](const ExprRef& row, const ExprRef& vector, const ExprRef& at) {
      builder_.Store(scratch_, at, registers_.Get(row, vector));
    });
  });
}

}  // namespace mlc::schedule
