#include "compiler/schedule/cuda/tensor/role_order.h"

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

std::pair<ExprRef, ExprRef> UnitPlace(ir::KernelBuilder& b, const RolePlan& plan,
                                      const ExprRef& unit) {
  const int64_t rows = plan.m_units(), columns = plan.n_units();
  if (plan.band < 0) return {ir::FloorDiv(unit, columns), ir::Mod(unit, columns)};
  if (plan.band == 0) return {ir::Mod(unit, rows), ir::FloorDiv(unit, rows)};
  const int64_t band = plan.band, rest = rows % band, whole = (rows - rest) * columns;
  ExprRef m = ir::FloorDiv(unit, band * columns) * band + ir::Mod(unit, band);
  ExprRef n = ir::FloorDiv(ir::Mod(unit, band * columns), band);
  if (rest > 0) {
    // The last band is narrower. A factor of 0 or 1 chooses.
    const ExprRef last = b.Let("last", ir::FloorDiv(unit, whole));
    const ExprRef inside = b.Let("inside", unit - last * whole);
    m = m * (Int(1) - last) + last * (ir::Mod(inside, rest) + (rows - rest));
    n = n * (Int(1) - last) + last * ir::FloorDiv(inside, rest);
  }
  return {m, n};
}

}  // namespace mlc::schedule
