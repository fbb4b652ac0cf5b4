#include "compiler/codegen/round_to_byte.h"

#include <variant>

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace mlc::codegen {

namespace {

using llvm::Value;

constexpr uint64_t kCurrentRounding = 4;

}  // namespace

std::optional<RoundedByte> FindRoundedByte(const ir::Expr& cast, const Features& features) {
  const ir::ExprRef& value = std::get<ir::Cast>(cast.node).value;
  const int lanes = cast.type.lanes;
  if (cast.type.dtype != DType::kU8 || value->type.dtype != DType::kF32) return std::nullopt;
  if (!features.triple.starts_with("x86_64") || lanes * 32 > features.vector_bits) {
    return std::nullopt;
  }
  if (lanes != 4 && lanes != 8 && lanes != 16) return std::nullopt;
  std::optional<RoundedByte> rounded = ir::FindRoundedByte(cast);
  if (rounded && (rounded->zero < 0 || rounded->low != 0)) return std::nullopt;
  return rounded;
}

// What exceeds an integer, and no number, becomes the least one; so the upper bound comes first,
// and keeps what is no number.
Value* EmitRoundedByte(llvm::IRBuilderBase& b, const RoundedByte& rounded, Value* x) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  Value* high =
      llvm::ConstantFP::get(x->getType(), static_cast<double>(rounded.high - rounded.zero));
  x = b.CreateSelect(b.CreateFCmpOLT(high, x), high, x);
  llvm::Type* words = llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
  Value* word = nullptr;
  if (lanes == 16) {
    word = b.CreateIntrinsic(
        llvm::Intrinsic::x86_avx512_mask_cvtps2dq_512, {},
        {x, llvm::Constant::getNullValue(words), llvm::ConstantInt::get(b.getInt16Ty(), 0xffff),
         b.getInt32(kCurrentRounding)});
  } else {
    word = b.CreateIntrinsic(
        lanes == 8 ? llvm::Intrinsic::x86_avx_cvt_ps2dq_256 : llvm::Intrinsic::x86_sse2_cvtps2dq,
        {}, {x});
  }
  if (rounded.zero != 0) {
    word = b.CreateAdd(word, llvm::ConstantInt::get(words, static_cast<uint64_t>(rounded.zero)));
  }
  word = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, word, llvm::Constant::getNullValue(words));
  return b.CreateTrunc(word, llvm::FixedVectorType::get(b.getInt8Ty(), lanes));
}

}  // namespace mlc::codegen
