#include "compiler/codegen/round_to_byte.h"

#include <cmath>
#include <variant>

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsX86.h"

namespace mlc::codegen {

namespace {

using llvm::Value;

constexpr int64_t kMost = 255;
constexpr uint64_t kCurrentRounding = 4;

bool IsApply(const ir::ExprRef& expr, ScalarOp op) {
  const auto* apply = std::get_if<ir::Apply>(&expr->node);
  return apply != nullptr && apply->op == op;
}

const ir::ExprRef& Argument(const ir::ExprRef& expr, size_t index) {
  return std::get<ir::Apply>(expr->node).args[index];
}

// The integer of 0 .. 255 that all lanes equal.
std::optional<int64_t> Byte(const ir::ExprRef& expr) {
  const ir::Expr* one = expr.get();
  if (const auto* broadcast = std::get_if<ir::Broadcast>(&one->node)) one = broadcast->value.get();
  const auto* number = std::get_if<ir::FloatImm>(&one->node);
  if (number == nullptr || !(number->value >= 0 && number->value <= kMost)) return std::nullopt;
  if (number->value != std::floor(number->value)) return std::nullopt;
  return static_cast<int64_t>(number->value);
}

}  // namespace

std::optional<RoundedByte> FindRoundedByte(const ir::Expr& cast, const Features& features) {
  const ir::ExprRef& value = std::get<ir::Cast>(cast.node).value;
  const int lanes = cast.type.lanes;
  if (cast.type.dtype != DType::kU8 || value->type.dtype != DType::kF32) return std::nullopt;
  if (!features.triple.starts_with("x86_64") || lanes * 32 > features.vector_bits) {
    return std::nullopt;
  }
  if (lanes != 4 && lanes != 8 && lanes != 16) return std::nullopt;
  RoundedByte rounded{value};
  if (IsApply(rounded.x, ScalarOp::kMin)) {
    const std::optional<int64_t> high = Byte(Argument(rounded.x, 1));
    if (!high) return std::nullopt;
    rounded.high = *high;
    rounded.x = Argument(rounded.x, 0);
  }
  if (IsApply(rounded.x, ScalarOp::kMax)) {
    if (Byte(Argument(rounded.x, 1)) != 0) return std::nullopt;
    rounded.x = Argument(rounded.x, 0);
  }
  if (IsApply(rounded.x, ScalarOp::kAdd)) {
    const std::optional<int64_t> zero = Byte(Argument(rounded.x, 1));
    if (!zero) return std::nullopt;
    rounded.zero = *zero;
    rounded.x = Argument(rounded.x, 0);
  }
  if (!IsApply(rounded.x, ScalarOp::kRound)) return std::nullopt;
  rounded.x = Argument(rounded.x, 0);
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
