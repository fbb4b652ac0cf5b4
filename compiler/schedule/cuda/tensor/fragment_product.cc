#include "compiler/schedule/cuda/tensor/fragment_product.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

FragmentProduct::FragmentProduct(const TensorPlan& plan, ir::BufferId sums, ir::KernelBuilder& b)
    : plan_(plan), sums_(sums), b_(b) {
  if (plan.math == TensorMath::kTf32x3) {
    apart_ = b.Registers("apart", DType::kF32, 4, plan.chains() * GroupTiles());
  }
}

void FragmentProduct::Multiply(TensorOperand& rows, TensorOperand& columns, int set) {
  if (plan_.math == TensorMath::kTf32x3) return MultiplyThrice(rows, columns, set);
  const int halves = plan_.is_narrow() ? 1 : 2;
  if (halves == 2) {
    for (int i = 0; i < plan_.row_tiles(); ++i) rows.Round(i, set);
    for (int j = 0; j < plan_.column_tiles(); ++j) columns.Round(j, set);
  }
  for (int half = 0; half < halves; ++half) {
    for (int i = 0; i < plan_.row_tiles(); ++i) {
      for (int j = 0; j < plan_.column_tiles(); ++j) {
        const TensorOperand::Fragment a = rows.Get(i, half, set);
        const TensorOperand::Fragment b = columns.Get(j, half, set);
        b_.Mma(sums_, Int(i * plan_.column_tiles() + j), a.registers, a.index, b.registers, b.index,
               b.part);
      }
    }
  }
}

// low * high, high * low, high * high of a unit, small terms first, apart from the total: the
// matrix unit truncates its sums, and short ones truncate little.
void FragmentProduct::MultiplyThrice(TensorOperand& rows, TensorOperand& columns, int set) {
  for (int j = 0; j < plan_.column_tiles(); ++j) columns.Round(j, set);
  for (int first = 0; first < plan_.row_tiles(); first += plan_.row_group()) {
    for (int i = first; i < first + plan_.row_group(); ++i) rows.Round(i, set);
    for (int t = 0; t < plan_.chains() * GroupTiles(); ++t) {
      b_.Set(apart_, Int(t), ir::Float(DType::kF32, 0, 4));
    }
    for (int pass = 0; pass < 3; ++pass) {
      for (int half = 0; half < 2; ++half) {
        for (int t = 0; t < GroupTiles(); ++t) {
          const int i = first + t / plan_.column_tiles();
          const int j = t % plan_.column_tiles();
          const TensorOperand::Fragment a =
              pass == 0 ? rows.GetLow(i, half) : rows.Get(i, half, set);
          const TensorOperand::Fragment b =
              pass == 1 ? columns.GetLow(j, half) : columns.Get(j, half, set);
          const int chain = half % plan_.chains();
          b_.Mma(apart_, Int(chain * GroupTiles() + t), a.registers, a.index, b.registers, b.index,
                 b.part);
        }
      }
    }
    AddApart(first);
  }
}

// Additions outside of the matrix unit round to nearest.
void FragmentProduct::AddApart(int first_row) {
  for (int t = 0; t < GroupTiles(); ++t) {
    const ExprRef to = Int(first_row * plan_.column_tiles() + t);
    ExprRef apart = b_.Get(apart_, Int(t));
    if (plan_.chains() == 2) {
      apart = ir::MakeApply(ScalarOp::kAdd, {apart, b_.Get(apart_, Int(GroupTiles() + t))});
    }
    b_.Set(sums_, to, ir::MakeApply(ScalarOp::kAdd, {b_.Get(sums_, to), apart}));
  }
}

}  // namespace mlc::schedule
