#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace mlc {
namespace {

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("odd");
  return value / 2;
}

Result<int> Quarter(int value) {
  const int half = MLC_TRY(Half(value));
  return MLC_TRY(Half(half));
}

Status CheckEven(int value) {
  MLC_TRY(Half(value).status());
  return {};
}

TEST(Status, PrintsCodeAndMessage) {
  EXPECT_EQ(Status().ToString(), "OK");
  EXPECT_EQ(NotFound("no such file").ToString(), "NOT_FOUND: no such file");
}

TEST(Status, PrefixKeepsTheCodeAndLeavesOkAlone) {
  const Status status = DataLoss("bad digest").WithPrefix("record 7");
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "record 7: bad digest");
  EXPECT_TRUE(Status().WithPrefix("x").ok());
}

TEST(Status, CodesCarryTheNumbersOfTheWire) {
  EXPECT_EQ(static_cast<int>(StatusCode::kUnauthenticated), 16);
  EXPECT_EQ(ToText(StatusCode::kUnavailable), "UNAVAILABLE");
}

TEST(Try, ReturnsTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_TRUE(CheckEven(4).ok());
  EXPECT_EQ(CheckEven(3).code(), StatusCode::kInvalidArgument);
}

TEST(Result, HoldsMoveOnlyValues) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> value = *std::move(result);
  EXPECT_EQ(*value, 7);
}

}  // namespace
}  // namespace mlc
