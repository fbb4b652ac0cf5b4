// Operators of indices: 32-bit where neither an operand nor the result can leave 32 bits. Not
// thread-safe.
#pragma once

#include <vector>

#include "compiler/codegen/cuda/phase_scope.h"
#include "compiler/codegen/cuda/scalar_operators.h"

namespace mlc::codegen {

// `e` is the `apply` of an i64 type, `args` the text of its operands.
Text ApplyToIndices(PhaseScope& scope, ScalarOperators& operators, const ir::Expr& e,
                    const ir::Apply& apply, std::vector<Text> args);

}  // namespace mlc::codegen
