// The instructions of ScalarOp::kDot4. Not thread-safe beyond the builder.
#pragma once

#include "compiler/codegen/features.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace mlc::codegen {

// c plus the products of the unsigned bytes of a and the signed bytes of b, in each word of 32
// bits: one instruction where the target has it, products of 16-bit halves on other x86.
llvm::Value* EmitByteDot(llvm::IRBuilderBase& b, const Features& features, llvm::Value* x,
                         llvm::Value* y, llvm::Value* sum);

}  // namespace mlc::codegen
