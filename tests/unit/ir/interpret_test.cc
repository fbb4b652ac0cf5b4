#include "compiler/ir/interpret/interpret.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "compiler/ir/build.h"

namespace mlc::ir {
namespace {

template <typename T>
std::span<std::byte> Bytes(std::vector<T>& values) {
  return std::as_writable_bytes(std::span<T>(values));
}

Status RunText(const std::string& text, std::vector<std::span<std::byte>> params) {
  const Result<Kernel> kernel = Kernel::Parse(text);
  if (!kernel.ok()) return kernel.status();
  return Interpret(*kernel, params);
}

// `expr` of f32 parameters a and b, each one element, in f32.
float Eval(const std::string& expr, float a, float b = 0) {
  std::vector<float> in{a, b}, out{-1};
  const Status status = RunText(
      "kernel k { in x: f32[2] out o: f32[1] parallel for p in 0 .. 1 { o[0] = " + expr + " } }",
      {Bytes(in), Bytes(out)});
  EXPECT_TRUE(status.ok()) << status.ToString();
  return out[0];
}

int64_t EvalInt(const std::string& expr) {
  std::vector<int64_t> out{-99};
  const Status status = RunText(
      "kernel k { out o: i64[1] parallel for p in 0 .. 1 { o[0] = cast(i64, " + expr + ") } }",
      {Bytes(out)});
  EXPECT_TRUE(status.ok()) << status.ToString();
  return out[0];
}

TEST(Interpret, FloatsRoundAfterEachOperation) {
  EXPECT_EQ(Eval("add(x[0], x[1])", 16777216.0f, 1.0f), 16777216.0f);
  EXPECT_EQ(Eval("add(mul(x[0], x[0]), x[1])", 1.0f + 0x1p-12f, -1.0f),
            (1.0f + 0x1p-12f) * (1.0f + 0x1p-12f) - 1.0f);
  EXPECT_EQ(Eval("fma(x[0], x[0], x[1])", 1.0f + 0x1p-12f, -1.0f),
            std::fma(1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f));
  // The sum of the exact product and c in double would round twice and lose the tie.
  EXPECT_EQ(Eval("fma(x[0], x[0], x[1])", 1.0f + 0x1p-23f, 0x1p-60f),
            std::fma(1.0f + 0x1p-23f, 1.0f + 0x1p-23f, 0x1p-60f));
}

TEST(Interpret, TurnsASquareOfRegisters) {
  std::vector<float> in{1, 2, 3, 4}, out(4);
  const std::string square =
      "kernel k { in x: f32[4] out o: f32[4] reg r: f32x2[3] parallel for p in 0 .. 1 { r[1] = "
      "x[0, lanes=2] ";
  const std::string rest = "turn_square r[1] o[0] = r[1] o[2] = r[2] } }";
  const Status whole = RunText(square + "r[2] = x[2, lanes=2] " + rest, {Bytes(in), Bytes(out)});
  EXPECT_TRUE(whole.ok()) << whole.ToString();
  EXPECT_EQ(out, (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(RunText(square + rest, {Bytes(in), Bytes(out)}).message(),
            "kernel 'k' reads 'r[2]', which was never written, in iteration 0 of 'p'");
}

TEST(Interpret, UnaryOperators) {
  EXPECT_EQ(Eval("exp(x[0])", 1.5f), static_cast<float>(std::exp(1.5)));
  EXPECT_EQ(Eval("exp2(x[0])", 1.5f), static_cast<float>(std::exp2(1.5)));
  EXPECT_EQ(Eval("log(x[0])", 1.5f), static_cast<float>(std::log(1.5)));
  EXPECT_EQ(Eval("sqrt(x[0])", 2.0f), std::sqrt(2.0f));
  EXPECT_EQ(Eval("rsqrt(x[0])", 2.0f), static_cast<float>(1 / std::sqrt(2.0)));
  EXPECT_EQ(Eval("reciprocal(x[0])", 3.0f), 1.0f / 3.0f);
  EXPECT_EQ(Eval("tanh(x[0])", 0.5f), static_cast<float>(std::tanh(0.5)));
  EXPECT_EQ(Eval("sigmoid(x[0])", 0.5f), static_cast<float>(1 / (1 + std::exp(-0.5))));
  EXPECT_EQ(Eval("erf(x[0])", 0.5f), static_cast<float>(std::erf(0.5)));
  EXPECT_EQ(Eval("sin(x[0])", 0.5f), static_cast<float>(std::sin(0.5)));
  EXPECT_EQ(Eval("cos(x[0])", 0.5f), static_cast<float>(std::cos(0.5)));
  EXPECT_EQ(Eval("neg(abs(x[0]))", -2.5f), -2.5f);
  EXPECT_EQ(Eval("floor(x[0])", -2.5f), -3.0f);
  EXPECT_EQ(Eval("ceil(x[0])", -2.5f), -2.0f);
  EXPECT_EQ(Eval("round(x[0])", 2.5f), 2.0f);
  EXPECT_EQ(Eval("sign(x[0])", -2.5f), -1.0f);
  EXPECT_EQ(Eval("cast(f32, is_nan(x[0]))", std::nanf("")), 1.0f);
  EXPECT_EQ(Eval("cast(f32, not(is_nan(x[0])))", 1.0f), 1.0f);
}

TEST(Interpret, BinaryOperators) {
  EXPECT_EQ(Eval("sub(x[0], x[1])", 3, 5), -2.0f);
  EXPECT_EQ(Eval("div(x[0], x[1])", 1, 3), 1.0f / 3.0f);
  EXPECT_EQ(Eval("mod(x[0], x[1])", -7, 4), -3.0f);
  EXPECT_EQ(Eval("pow(x[0], x[1])", 2, 0.5f), static_cast<float>(std::pow(2.0, 0.5)));
  EXPECT_EQ(Eval("max(x[0], x[1])", 2, 3), 3.0f);
  EXPECT_EQ(Eval("min(x[0], x[1])", 2, 3), 2.0f);
  EXPECT_TRUE(std::isnan(Eval("max(x[0], x[1])", std::nanf(""), 3)));
  EXPECT_TRUE(std::isnan(Eval("min(x[0], x[1])", 3, std::nanf(""))));
  EXPECT_EQ(Eval("select(less(x[0], x[1]), x[1], x[0])", 2, 3), 3.0f);
  EXPECT_EQ(Eval("select(equal(x[0], x[1]), x[1], x[0])", 2, 3), 2.0f);
  EXPECT_EQ(Eval("select(xor(less(x[0], x[1]), less_equal(x[0], x[1])), x[1], x[0])", 2, 2), 2.0f);
}

TEST(Interpret, IntegersWrapAndDivideByType) {
  EXPECT_EQ(EvalInt("div(-7, 2)"), -4);
  EXPECT_EQ(EvalInt("mod(-7, 4)"), 1);
  EXPECT_EQ(EvalInt("div(i32(-7), i32(2))"), -3);
  EXPECT_EQ(EvalInt("mod(i32(-7), i32(4))"), 1);
  EXPECT_EQ(EvalInt("add(i8(127), i8(1))"), -128);
  EXPECT_EQ(EvalInt("sub(u8(0), u8(1))"), 255);
  EXPECT_EQ(EvalInt("mul(i16(300), i16(300))"), 24464);
  EXPECT_EQ(EvalInt("div(-9223372036854775808, -1)"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(EvalInt("pow(3, 5)"), 243);
  EXPECT_EQ(EvalInt("abs(sign(-5))"), 1);
}

TEST(Interpret, CastsTruncateAndSaturate) {
  EXPECT_EQ(EvalInt("cast(i32, f32(-2.75))"), -2);
  EXPECT_EQ(EvalInt("cast(u8, f32(300))"), 255);
  EXPECT_EQ(EvalInt("cast(u8, f32(-3))"), 0);
  EXPECT_EQ(EvalInt("cast(i8, f32(-300))"), -128);
  EXPECT_EQ(EvalInt("cast(i32, f32(nan))"), 0);
  EXPECT_EQ(EvalInt("f64(1e30)"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(EvalInt("cast(bool, f32(0.25))"), 1);
  EXPECT_EQ(EvalInt("cast(i8, 130)"), -126);
  // One rounding from i64 to f32, not two.
  EXPECT_EQ(EvalInt("cast(f32, 9007199791611905)"), static_cast<int64_t>(9007199791611905.0f));
}

TEST(Interpret, NarrowFloatsAreStoredRounded) {
  std::vector<float> in{1.0009766f, 65520.0f, 1e-7f, -3.14159f, 65519.0f};
  std::vector<uint16_t> half(5), brain(5);
  std::vector<float> back(10);
  const Status status = RunText(
      "kernel k { in x: f32[5] out h: f16[5] out b: bf16[5] out y: f32[10]"
      " parallel for p in 0 .. 5 { h[p] = cast(f16, x[p]) b[p] = cast(bf16, x[p])"
      " y[p] = cast(f32, h[p]) y[add(p, 5)] = cast(f32, b[p]) } }",
      {Bytes(in), Bytes(half), Bytes(brain), Bytes(back)});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(half, (std::vector<uint16_t>{0x3c01, 0x7c00, 0x0002, 0xc248, 0x7bff}));
  EXPECT_EQ(brain, (std::vector<uint16_t>{0x3f80, 0x4780, 0x33d7, 0xc049, 0x4780}));
  EXPECT_EQ(back[0], 1.0009765625f);
  EXPECT_TRUE(std::isinf(back[1]));
  EXPECT_EQ(back[2], 0x1p-23f);
  EXPECT_EQ(back[8], -3.140625f);
}

TEST(Interpret, VectorsMasksAndStrides) {
  std::vector<float> in(16);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  std::vector<float> out(16, -1);
  const Status status = RunText(
      "kernel k { in x: f32[16] out y: f32[16] reg r: f32x4[1] parallel for p in 0 .. 1 {\n"
      "r[0] = x[1, lanes=4, stride=3]\n"
      "y[0, stride=2] = r[0]\n"
      "y[8, mask=2] = x[14, lanes=4, mask=2]\n"
      "y[10] = x[14, lanes=4, mask=1]\n"
      "y[14] = reduce_max(r[0])\n"
      "y[15] = reduce_add(select(lane_mask(3, 4), cast(f32, lane_index(i32, 4)), r[0]))\n"
      "} }",
      {Bytes(in), Bytes(out)});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(out, (std::vector<float>{1, -1, 4, -1, 7, -1, 10, -1, 14, 15, 14, 0, 0, 0, 10, 13}));
}

TEST(Interpret, LoopsBranchesAndScratch) {
  std::vector<int64_t> out(6);
  const Status status = RunText(
      "kernel k { out y: i64[6] shared s: i64[6] thread t: i64[1]\n"
      "parallel for p in 0 .. 6 { t[0] = 0 for i in 0 .. add(p, 1) { t[0] = add(t[0], i) }\n"
      "  s[p] = t[0] }\n"
      "parallel for q in 0 .. 6 { let r = sub(5, q)\n"
      "  if less(r, 3) { y[q] = s[r] } else { y[q] = neg(s[r]) } } }",
      {Bytes(out)});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(out, (std::vector<int64_t>{-15, -10, -6, 3, 1, 0}));
}

// The failure of a body over p in 0 .. 4 with input a, output c, shared s, thread t, register r.
Status FailureOf(const std::string& body) {
  std::vector<float> a(4), c(4);
  return RunText(
      "kernel k { in a: f32[4] out c: f32[4] shared s: f32[4] thread t: f32[4] reg r: f32[2]"
      " parallel for p in 0 .. 4 { " +
          body + " } }",
      {Bytes(a), Bytes(c)});
}

TEST(Interpret, FaultsNameBufferIndexAndIteration) {
  EXPECT_EQ(FailureOf("c[p] = a[add(p, 2)]"),
            Status(StatusCode::kOutOfRange,
                   "kernel 'k' reads 'a[4]' outside its 4 elements, in iteration 2 of 'p'"));
  EXPECT_EQ(FailureOf("c[sub(p, 1)] = f32(0)"),
            Status(StatusCode::kOutOfRange,
                   "kernel 'k' writes 'c[-1]' outside its 4 elements, in iteration 0 of 'p'"));
  EXPECT_EQ(FailureOf("c[p] = t[1]"),
            Status(StatusCode::kFailedPrecondition,
                   "kernel 'k' reads 't[1]', which was never written, in iteration 0 of 'p'"));
  EXPECT_EQ(FailureOf("if equal(p, 0) { t[0] = f32(1) } c[p] = t[0]"),
            Status(StatusCode::kFailedPrecondition,
                   "kernel 'k' reads 't[0]', which was never written, in iteration 1 of 'p'"));
  EXPECT_EQ(FailureOf("c[p] = r[1]"),
            Status(StatusCode::kFailedPrecondition,
                   "kernel 'k' reads 'r[1]', which was never written, in iteration 0 of 'p'"));
  EXPECT_EQ(FailureOf("c[p] = s[p]"),
            Status(StatusCode::kFailedPrecondition,
                   "kernel 'k' reads 's[0]', which was never written, in iteration 0 of 'p'"));
  EXPECT_EQ(FailureOf("c[p] = c[p]").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(FailureOf("c[div(1, p)] = f32(0)"),
            Status(StatusCode::kOutOfRange, "kernel 'k' divides by zero, in iteration 0 of 'p'"));
  EXPECT_EQ(FailureOf("c[1] = a[0, lanes=2] streaming").code(), StatusCode::kFailedPrecondition);
}

TEST(Interpret, RacesAreFound) {
  EXPECT_EQ(FailureOf("c[0] = f32(1)"),
            Status(StatusCode::kAborted,
                   "kernel 'k' writes 'c[0]' in a race with another iteration, in iteration 1 of "
                   "'p'"));
  EXPECT_EQ(FailureOf("s[p] = f32(1) c[p] = s[0]").code(), StatusCode::kAborted);
  std::vector<float> y(4);
  const auto two_phases = [&](const std::string& second) {
    return RunText(
        "kernel k { out y: f32[4] shared s: f32[4] parallel for p in 0 .. 4 { s[p] = f32(1) }"
        " parallel for q in 0 .. 4 { " +
            second + " } }",
        {Bytes(y)});
  };
  EXPECT_TRUE(two_phases("y[q] = s[0]").ok());
  EXPECT_EQ(two_phases("y[q] = s[0] if equal(q, 3) { s[0] = f32(2) }").code(),
            StatusCode::kAborted);
  EXPECT_EQ(two_phases("if less(q, 1) { y[0] = s[2] } s[q] = f32(2)").code(), StatusCode::kAborted);
}

TEST(Interpret, ParametersMustFit) {
  std::vector<float> a(4), c(3);
  const std::string text = "kernel k { in a: f32[4] out c: f32[4] parallel for p in 0 .. 1 { } }";
  EXPECT_EQ(RunText(text, {Bytes(a)}), InvalidArgument("kernel 'k' takes 2 parameters, not 1"));
  EXPECT_EQ(RunText(text, {Bytes(a), Bytes(c)}),
            InvalidArgument("kernel 'k': parameter 'c' needs 16 bytes, not 12"));
}

}  // namespace
}  // namespace mlc::ir
