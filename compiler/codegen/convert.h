// Element types in registers and in memory, and conversions between them. f16 and bf16 are held as
// their 16 bits (i16) and computed on in f32, smaller floats as their codes (i8); kBool is i1 in
// registers and a byte in memory. Float to integer truncates and saturates; NaN gives 0.
// Conversions to narrow floats round to nearest even (from f64: by way of f32). Not thread-safe
// beyond the builder.
#pragma once

#include "compiler/codegen/features.h"
#include "compiler/types/dtype.h"

namespace llvm {
class IRBuilderBase;
class LLVMContext;
class Type;
class Value;
}  // namespace llvm

namespace mlc::codegen {

llvm::Type* RegisterType(llvm::LLVMContext& context, DType dtype, int lanes);
llvm::Type* MemoryType(llvm::LLVMContext& context, DType dtype, int lanes);
bool IsSigned(DType dtype);

llvm::Value* Convert(llvm::IRBuilderBase& b, const Features& features, llvm::Value* value,
                     DType from, DType to);

}  // namespace mlc::codegen
