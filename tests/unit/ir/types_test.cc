#include "compiler/ir/types.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mlc::ir {
namespace {

TEST(Types, RoundsNarrowFloats) {
  EXPECT_EQ(RoundTo(DType::kF16, 1.0 + 1.0 / 2048), 1.0);
  EXPECT_EQ(RoundTo(DType::kF16, 1.0 + 3.0 / 2048), 1.0 + 2.0 / 1024);
  EXPECT_EQ(RoundTo(DType::kF16, 0.0), 0.0);
  EXPECT_EQ(RoundTo(DType::kF16, 65504.0), 65504.0);
  EXPECT_TRUE(std::isinf(RoundTo(DType::kF16, 65520.0)));
  EXPECT_EQ(RoundTo(DType::kF16, 5.9604644775390625e-8), 5.9604644775390625e-8);
  EXPECT_EQ(RoundTo(DType::kBF16, 1.0 + 1.0 / 256), 1.0);
  EXPECT_EQ(RoundTo(DType::kBF16, -(1.0 + 3.0 / 256)), -(1.0 + 2.0 / 128));
  EXPECT_EQ(RoundTo(DType::kF32, 1.0 + 0x1p-30), 1.0);
  EXPECT_EQ(RoundTo(DType::kF64, 1.0 + 0x1p-30), 1.0 + 0x1p-30);
}

TEST(Types, WrapsNarrowIntegers) {
  EXPECT_EQ(WrapTo(DType::kU8, 257), 1);
  EXPECT_EQ(WrapTo(DType::kI8, 255), -1);
  EXPECT_EQ(WrapTo(DType::kI32, int64_t{1} << 32), 0);
  EXPECT_EQ(WrapTo(DType::kBool, 2), 1);
}

}  // namespace
}  // namespace mlc::ir
