#include "compiler/schedule/cpu/shifted_exp.h"

#include <numbers>
#include <utility>

namespace mlc::schedule {

ir::ExprRef ShiftedExp(ir::ExprRef x, ir::ExprRef top) {
  const ir::Type type = x->type;
  const ir::ExprRef below = ir::MakeApply(ScalarOp::kSub, {std::move(x), std::move(top)});
  const ir::ExprRef log2e = ir::Float(type.dtype, std::numbers::log2e, type.lanes);
  return ir::MakeApply(ScalarOp::kExp2, {ir::MakeApply(ScalarOp::kMul, {below, log2e})});
}

}  // namespace mlc::schedule
