// Every enumerator has a name that reads back.
#include <gtest/gtest.h>

#include "base/outcome.h"
#include "compiler/types/dtype.h"
#include "compiler/types/scalar_op.h"

namespace mlc {
namespace {

TEST(DTypeText, RoundTrips) {
  for (int i = 0; i <= static_cast<int>(DType::kBool); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(*ParseDType(ToText(dtype)), dtype);
    EXPECT_GT(SizeOf(dtype), 0);
  }
  EXPECT_EQ(ParseDType("f8").status().message(), "unknown element type 'f8'");
}

TEST(OutcomeText, RoundTrips) {
  for (int i = 0; i <= static_cast<int>(Outcome::kInfra); ++i) {
    EXPECT_EQ(*ParseOutcome(ToText(static_cast<Outcome>(i))), static_cast<Outcome>(i));
  }
  EXPECT_FALSE(ParseOutcome("fine").ok());
}

TEST(ScalarOpText, RoundTrips) {
  for (int i = 0; i < ScalarOpCount(); ++i) {
    const auto op = static_cast<ScalarOp>(i);
    EXPECT_EQ(*ParseScalarOp(InfoOf(op).name), op);
    EXPECT_GE(InfoOf(op).arity, 1);
  }
  EXPECT_FALSE(ParseScalarOp("plus").ok());
}

}  // namespace
}  // namespace mlc
