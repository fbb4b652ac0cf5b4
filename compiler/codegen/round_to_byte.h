// What quantisation computes, cast<u8>(min(max(round(x) + zero, 0), high)), in few instructions:
// the conversion to integers rounds, and bounds are those of integers. Pure functions; thread-safe.
#pragma once

#include <optional>

#include "compiler/codegen/features.h"
#include "compiler/ir/rounded_byte.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace mlc::codegen {

using ir::RoundedByte;

// Nothing if the cast is none of a vector of that form, or the target has no instruction for it.
std::optional<RoundedByte> FindRoundedByte(const ir::Expr& cast, const Features& features);
// `x` is the value of rounded.x. The bits are those that the form stands for, also of a NaN.
llvm::Value* EmitRoundedByte(llvm::IRBuilderBase& b, const RoundedByte& rounded, llvm::Value* x);

}  // namespace mlc::codegen
