// Conversions between f32 and floats of 4 and 8 bits, which registers hold as codes (i8, or vectors
// of it). The same results as compiler/types/small_float.h. Not thread-safe beyond the builder.
#pragma once

#include "compiler/types/dtype.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace mlc::codegen {

llvm::Value* SmallFloatToFloat(llvm::IRBuilderBase& b, llvm::Value* codes, DType from);
llvm::Value* FloatToSmallFloat(llvm::IRBuilderBase& b, llvm::Value* value, DType to);

}  // namespace mlc::codegen
