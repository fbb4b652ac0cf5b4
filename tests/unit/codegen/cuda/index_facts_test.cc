#include "compiler/codegen/cuda/index_facts.h"

#include <gtest/gtest.h>

#include "compiler/ir/build.h"

namespace mlc::codegen {
namespace {

using ir::ExprRef;
using ir::Int;

// One variable, 0 .. 99 in steps of 4.
class IndexFactsTest : public testing::Test {
 protected:
  IndexFactsTest() : analysis_(kernel_) {
    kept_ = {Int(0), Int(98)};
    analysis_.BindLoop({0, kept_[0], kept_[1], 4, ir::LoopKind::kSerial, nullptr});
  }
  static ir::Kernel OneVar() {
    ir::Kernel kernel;
    kernel.vars = {"i"};
    return kernel;
  }
  void Expect(const ExprRef& e, int64_t low, int64_t high, int64_t multiple) {
    kept_.push_back(e);
    const IndexFacts facts = analysis_.Of(e);
    EXPECT_EQ(facts.low, low);
    EXPECT_EQ(facts.high, high);
    EXPECT_EQ(facts.multiple, multiple);
  }

  ir::Kernel kernel_ = OneVar();
  IndexAnalysis analysis_;
  std::vector<ExprRef> kept_;  // facts are found by address
  const ExprRef i_ = std::make_shared<const ir::Expr>(ir::Expr{{DType::kI64, 1}, ir::VarRef{0}});
};

TEST_F(IndexFactsTest, LoopEndsAtItsLastStep) { Expect(i_, 0, 96, 4); }

TEST_F(IndexFactsTest, SumsAndProducts) {
  Expect(i_ * 6 + 8, 8, 584, 8);
  Expect(i_ - 4, -4, 92, 4);
  Expect(Int(2) - i_, -94, 2, 2);
  Expect(i_ * -2, -192, 0, 8);
}

TEST_F(IndexFactsTest, DivisionsRoundDown) {
  Expect(ir::FloorDiv(i_ - 5, 4), -2, 22, 1);
  Expect(ir::FloorDiv(i_, 2), 0, 48, 2);
  Expect(ir::Mod(i_, 6), 0, 5, 2);
  Expect(ir::Mod(i_, 97), 0, 96, 4);
}

TEST_F(IndexFactsTest, MinimumAndSelectKeepCommonFactors) {
  Expect(ir::Min(i_, Int(48)), 0, 48, 4);
  Expect(ir::MakeApply(ScalarOp::kSelect,
                       {ir::MakeApply(ScalarOp::kLess, {i_, Int(7)}), Int(8), Int(0)}),
         0, 8, 8);
}

TEST_F(IndexFactsTest, WrappingKeepsPowersOfTwo) {
  const ExprRef huge = i_ * (int64_t{3} << 60);
  kept_.push_back(huge);
  EXPECT_TRUE(analysis_.Of(huge).wraps);
  EXPECT_FALSE(analysis_.Of(huge).FitsInt());
  EXPECT_EQ(analysis_.Of(huge).multiple, int64_t{1} << 62);
}

TEST_F(IndexFactsTest, DataIsUnknownButBoundedByItsType) {
  const ExprRef byte = ir::MakeCast(
      DType::kI64,
      std::make_shared<const ir::Expr>(ir::Expr{{DType::kU8, 1}, ir::Load{0, Int(0), 1, nullptr}}));
  Expect(byte, 0, 255, 1);
  const ExprRef wide =
      std::make_shared<const ir::Expr>(ir::Expr{{DType::kI64, 1}, ir::Load{0, Int(0), 1, nullptr}});
  Expect(wide, INT64_MIN, INT64_MAX, 1);
}

}  // namespace
}  // namespace mlc::codegen
