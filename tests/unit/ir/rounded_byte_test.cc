#include "compiler/ir/rounded_byte.h"

#include <gtest/gtest.h>

#include "compiler/ir/build.h"

namespace mlc::ir {
namespace {

ExprRef With(ScalarOp op, const ExprRef& x, double number) {
  return MakeApply(op, {x, Float(DType::kF32, number)});
}

struct Parts {
  ExprRef x = Float(DType::kF32, 0.5);
  ExprRef rounded = MakeApply(ScalarOp::kRound, {x});
};

TEST(RoundedByte, HasAZeroAndBounds) {
  const Parts p;
  const ExprRef sum = With(ScalarOp::kAdd, p.rounded, 3);
  const ExprRef above = With(ScalarOp::kMax, sum, 1), inside = With(ScalarOp::kMin, above, 120);
  const auto found = FindRoundedByte(*MakeCast(DType::kU8, inside));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->x, p.x);
  EXPECT_EQ(found->zero, 3);
  EXPECT_EQ(found->low, 1);
  EXPECT_EQ(found->high, 120);
  const ExprRef below = With(ScalarOp::kMin, sum, 120);
  const auto other = FindRoundedByte(*MakeCast(DType::kU8, With(ScalarOp::kMax, below, 1)));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->low, 1);
  EXPECT_EQ(other->high, 120);
}

TEST(RoundedByte, HasTheBoundsOfItsType) {
  const Parts p;
  const auto found = FindRoundedByte(*MakeCast(DType::kI8, p.rounded));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->zero, 0);
  EXPECT_EQ(found->low, -128);
  EXPECT_EQ(found->high, 127);
}

TEST(RoundedByte, IsNoOtherForm) {
  const Parts p;
  EXPECT_FALSE(FindRoundedByte(*MakeCast(DType::kU8, p.x)));
  EXPECT_FALSE(FindRoundedByte(*MakeCast(DType::kI32, p.rounded)));
  EXPECT_FALSE(FindRoundedByte(*MakeCast(DType::kU8, With(ScalarOp::kAdd, p.rounded, 0.5))));
  EXPECT_FALSE(FindRoundedByte(*MakeCast(DType::kU8, With(ScalarOp::kMin, p.rounded, 300))));
  EXPECT_FALSE(FindRoundedByte(*MakeCast(DType::kU8, With(ScalarOp::kMul, p.rounded, 2))));
  const ExprRef above = With(ScalarOp::kMax, p.rounded, 9);
  EXPECT_FALSE(FindRoundedByte(*MakeCast(DType::kU8, With(ScalarOp::kMin, above, 3))));
}

}  // namespace
}  // namespace mlc::ir
