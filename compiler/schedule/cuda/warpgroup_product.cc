#include "compiler/schedule/cuda/warpgroup_product.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

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

}  // namespace mlc::schedule
