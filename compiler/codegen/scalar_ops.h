// One scalar operator on scalars or vectors of LLVM values: the row of compiler/types/scalar_op.h
// in instructions. Maximum and minimum of floats return the second operand where either is NaN; a
// constant operand is put first, so that clamps and ReLU pass NaN on. Not thread-safe beyond the
// builder.
#pragma once

#include <vector>

#include "compiler/codegen/convert.h"
#include "compiler/types/scalar_op.h"

namespace mlc::codegen {

// `dtype` is the element type of the last argument (for kSelect: of the values). The result has the
// same type, or kBool where the operator's row says so.
llvm::Value* EmitScalarOp(llvm::IRBuilderBase& b, const Features& features, ScalarOp op,
                          DType dtype, std::vector<llvm::Value*> args);

}  // namespace mlc::codegen
