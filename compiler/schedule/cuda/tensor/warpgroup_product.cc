#include "compiler/schedule/cuda/tensor/warpgroup_product.h"

namespace mlc::schedule {

namespace {

constexpr int kFragments = 4;  // of 8 k each, in a step of f32

}  // namespace

using ir::ExprRef;
using ir::Int;

WarpgroupProduct::WarpgroupProduct(const TensorPlan& plan, ir::BufferId tiles, ir::BufferId sums,
                                   ir::KernelBuilder& b)
    : plan_(plan), tiles_(tiles), sums_(sums), b_(b) {
  if (!plan.splits_rows()) return;
  high_ = b.Registers("a_high", DType::kF32, 4, kFragments);
  low_ = b.Registers("a_low", DType::kF32, 4, kFragments);
  apart_ = b.Registers("apart", DType::kF32, 4, plan.column_tiles());
}

void WarpgroupProduct::Place(const ExprRef& row, const ExprRef& column) {
  rows_at_ = b_.Let("rows_at", row * int64_t{plan_.bk});
  columns_at_ = b_.Let("columns_at", column * int64_t{plan_.bk} + plan_.rows.elements);
}

void WarpgroupProduct::Begin(const ExprRef& stage) {
  const int columns = plan_.warp_columns();
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    b_.WarpgroupMma(sums_, Int(int64_t{i} * plan_.column_tiles()), tiles_,
                    stage + rows_at_ + int64_t{i} * 64 * plan_.bk, tiles_, stage + columns_at_,
                    columns);
  }
}

void WarpgroupProduct::Split(const TensorOperand& rows) {
  for (int i = 0; i < kFragments; ++i) {
    const TensorOperand::Fragment f = rows.Get(0, i % 2, i / 2);
    const Tf32Parts parts = SplitTf32(b_.Get(f.registers, f.index));
    b_.Set(high_, Int(i), parts.high);
    b_.Set(low_, Int(i), parts.low);
  }
}

// low * high, high * low, high * high, small terms first, apart from the total: the matrix unit
// truncates its sums, and short ones truncate little.
void WarpgroupProduct::BeginThrice(const ExprRef& stage) {
  const ExprRef high = b_.Let("high_columns", stage + columns_at_);
  const ExprRef low = high + plan_.columns.elements / 2;
  for (int pass = 0; pass < 3; ++pass) {
    b_.WarpgroupMma(apart_, Int(0), pass == 0 ? low_ : high_, Int(0), tiles_,
                    pass == 1 ? low : high, plan_.warp_columns(), pass > 0);
  }
}

// Additions outside of the matrix unit round to nearest.
void WarpgroupProduct::EndThrice() {
  b_.WaitProducts(0);
  for (int j = 0; j < plan_.column_tiles(); ++j) {
    const ExprRef sum = b_.Get(sums_, Int(j));
    b_.Set(sums_, Int(j), ir::MakeApply(ScalarOp::kAdd, {sum, b_.Get(apart_, Int(j))}));
  }
}

}  // namespace mlc::schedule
