// The operators that kernel IR has for a type, from the table: a new row joins every test that
// asks.
#pragma once

#include <memory>
#include <vector>

#include "compiler/ir/types.h"
#include "compiler/types/scalar_op.h"

namespace mlc::codegen {

// Does the operator take operands of this type? The constructor of expressions ends the process for
// the others.
inline bool Takes(ScalarOp op, DType dtype) {
  const ir::ExprRef zero = std::make_shared<const ir::Expr>(ir::Expr{{dtype, 1}, ir::IntImm{0}});
  const ir::ExprRef condition =
      std::make_shared<const ir::Expr>(ir::Expr{{DType::kBool, 1}, ir::IntImm{0}});
  std::vector<ir::ExprRef> args(static_cast<size_t>(InfoOf(op).arity), zero);
  if (op == ScalarOp::kSelect) args[0] = condition;
  return ir::TypeOfApply(op, args).ok();
}

inline std::vector<ScalarOp> OperatorsOf(DType dtype) {
  std::vector<ScalarOp> ops;
  for (const ScalarOpInfo& info : scalar::kRows) {
    if (Takes(info.op, dtype)) ops.push_back(info.op);
  }
  return ops;
}

}  // namespace mlc::codegen
