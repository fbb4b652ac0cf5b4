#include "worker/check/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "worker/check/arena.h"

namespace mlc::worker {
namespace {

template <typename T>
Comparison CompareAs(const graph::TensorType& type, const std::vector<T>& got,
                     const std::vector<T>& want, double tolerance = 1e-4) {
  return Compare(type, reinterpret_cast<const std::byte*>(got.data()),
                 reinterpret_cast<const std::byte*>(want.data()), tolerance);
}

TEST(Check, NamesTheFirstWrongElement) {
  const graph::TensorType type{DType::kF32, {2, 2}, {}};
  const Comparison result = CompareAs<float>(type, {1, 2, 3, 5}, {1, 2, 3, 4});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.detail, "element [1,1] is 5.0 instead of 4.0");
  EXPECT_DOUBLE_EQ(result.error, 0.25);
}

TEST(Check, TheNarrowestTypeAndPrecisionDecideTheTolerance) {
  const auto tolerance = [](const std::string& type, const std::string& attributes) {
    const auto workload = graph::Workload::Parse(
        "workload v1 tolerance=1e-05 {\n%0 = input() : " + type + "[4,8]\n%1 = weight() : " + type +
        "[8,4]\n%2 = matmul(%0, %1)" + attributes + " : " + type +
        "[4,4]\n%3 = cast(%2) : f32[4,4]\n" + "return %3\n}\n");
    EXPECT_TRUE(workload.ok()) << workload.status().ToString();
    return workload.ok() ? ToleranceOf(*workload) : 0;
  };
  EXPECT_EQ(tolerance("f32", ""), 1e-5);
  EXPECT_EQ(tolerance("f32", "{precision=tf32}"), 3e-3);
  EXPECT_EQ(tolerance("f16", ""), 4e-3);
  EXPECT_EQ(tolerance("bf16", ""), 3e-2);
}

// Such a workload refuses approximate algorithms, not the rounding of sums in another order.
TEST(Check, AToleranceOfZeroLeavesRoomForRounding) {
  const auto workload = graph::Workload::Parse(
      "workload v1 tolerance=0.0 {\n%0 = input() : f32[8]\n%1 = exp(%0) : f32[8]\nreturn %1\n}\n");
  ASSERT_TRUE(workload.ok()) << workload.status().ToString();
  EXPECT_EQ(ToleranceOf(*workload), 1e-4);
}

TEST(Check, ErrorIsRelativeToTheLargestReference) {
  const graph::TensorType type{DType::kF32, {2}, {}};
  EXPECT_TRUE(CompareAs<float>(type, {1000, 0.01F}, {1000, 0}).ok);
  EXPECT_FALSE(CompareAs<float>(type, {1, 0.01F}, {1, 0}).ok);
}

TEST(Check, TheErrorStaysFinite) {
  const graph::TensorType type{DType::kF32, {2}, {}};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Comparison result = CompareAs<float>(type, {nan, 0.01F}, {0.001F, 0.01F});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.error, std::numeric_limits<double>::max());
}

TEST(Check, ReadsStridedOutputs) {
  const graph::TensorType type{DType::kF32, {2, 2}, {1, 2}};
  EXPECT_TRUE(CompareAs<float>(type, {1, 3, 2, 4}, {1, 2, 3, 4}).ok);
}

TEST(Check, NanAndInfinityOnlyWhereTheReferenceHasThem) {
  const graph::TensorType type{DType::kF32, {2}, {}};
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(CompareAs<float>(type, {nan, inf}, {nan, inf}).ok);
  EXPECT_FALSE(CompareAs<float>(type, {nan, 1}, {1, 1}).ok);
  EXPECT_FALSE(CompareAs<float>(type, {1, 1}, {nan, 1}).ok);
  EXPECT_FALSE(CompareAs<float>(type, {inf, 1}, {-inf, 1}).ok);
}

TEST(Check, IntegersAreExactButForRoundedBytes) {
  const graph::TensorType wide{DType::kI32, {2}, {}};
  EXPECT_FALSE(CompareAs<int32_t>(wide, {1000000, 1}, {1000000, 2}).ok);
  const graph::TensorType bytes{DType::kU8, {200}, {}};
  std::vector<uint8_t> want(200, 100);
  std::vector<uint8_t> got = want;
  got[7] = 101;
  EXPECT_TRUE(CompareAs(bytes, got, want).ok);
  got[8] = 102;
  EXPECT_FALSE(CompareAs(bytes, got, want).ok);
}

TEST(Arena, PoisonsAndGuards) {
  Arena arena;
  ASSERT_TRUE(arena.Reset(std::vector<int64_t>{100, 0, 64}).ok());
  std::byte* first = arena.Take(100, "output 0");
  (void)arena.Take(0, "the workspace");
  std::byte* last = arena.Take(64, "thread scratch");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(first[99], std::byte{0xff});
  first[99] = std::byte{1};
  EXPECT_EQ(arena.GuardError(), "");
  first[100] = std::byte{1};
  EXPECT_EQ(arena.GuardError(), "writes past the end of output 0");
  ASSERT_TRUE(arena.Reset(std::vector<int64_t>{100}).ok());
  last = arena.Take(100, "output 0");
  EXPECT_EQ(arena.GuardError(), "");
  last[-1] = std::byte{0};
  EXPECT_EQ(arena.GuardError(), "writes before output 0");
}

TEST(Arena, RefusesAbsurdSizes) {
  Arena arena;
  EXPECT_EQ(arena.Reset(std::vector<int64_t>{-1}).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(arena.Reset(std::vector<int64_t>{int64_t{1} << 50}).code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace mlc::worker
