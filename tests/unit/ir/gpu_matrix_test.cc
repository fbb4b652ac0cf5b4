// load_matrix and mma of the interpreter against plain products.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "tests/unit/ir/gpu_run.h"

namespace mlc::ir {
namespace {

// Values whose products and sums round, the same in every run.
std::vector<double> Scrambled(size_t count, uint32_t seed) {
  std::vector<double> values(count);
  for (double& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = (static_cast<double>(seed >> 8) / double{1 << 24} - 0.5) * 8;
  }
  return values;
}

// c = a * b + start, summed in double in the order of k and rounded after each `depth`.
std::vector<double> Product(const Param& a, const Param& b, int m, int n, int k, int depth,
                            double start) {
  std::vector<double> c(static_cast<size_t>(m * n));
  for (int i = 0; i < m * n; ++i) {
    double sum = start;
    for (int x = 0; x < k; ++x) {
      sum += a[static_cast<size_t>(i / n * k + x)] * b[static_cast<size_t>(x * n + i % n)];
      if (x % depth == depth - 1) sum = static_cast<float>(sum);
    }
    c[static_cast<size_t>(i)] = sum;
  }
  return c;
}

std::string NarrowKernel(const std::string& type) {
  return "kernel k { in a: " + type + "[256] in b: " + type + "[128] out c: f32[128]\n" +
         "block m: " + type + "[256] block n: " + type + "[128] thread h: f32[4]\n" +
         "reg x: " + type + "x8[1] reg y: " + type + "x4[1] reg z: f32x4[1]\n" +
         "parallel for p in 0 .. 1 { threads for t in 0 .. 32 {\n"
         "copy_async m[mul(t, 8)] = a[mul(t, 8), lanes=8]\n"
         "if less(t, 16) { copy_async n[mul(t, 8)] = b[mul(t, 8), lanes=8] }\n"
         "commit_copies wait_copies 0 barrier\n"
         "load_matrix x[0] = m[add(mul(mod(t, 16), 16), mul(div(t, 16), 8))]\n"
         "load_matrix transposed y[0] = n[mul(mod(t, 16), 8)]\n"
         "z[0] = broadcast(f32(0.5), 4)\n"
         "mma z[0] += x[0] * y[0]\n"
         "h[0] = z[0]\n"
         "let at = add(mul(div(t, 4), 8), mul(mod(t, 4), 2))\n"
         "c[at] = h[0, lanes=2]\n"
         "c[add(at, 64)] = h[2, lanes=2]\n} } }";
}

TEST(GpuMatrix, NarrowProductsAreExactAndRoundOnce) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Param a(dtype, Scrambled(256, 1)), b(dtype, Scrambled(128, 2)), c(DType::kF32, 128);
    const Status status =
        RunText(NarrowKernel(std::string(ToText(dtype))), {a.bytes(), b.bytes(), c.bytes()});
    ASSERT_TRUE(status.ok()) << status.ToString();
    const std::vector<double> want = Product(a, b, 16, 8, 16, 16, 0.5);
    for (size_t i = 0; i < 128; ++i) ASSERT_EQ(c[i], want[i]) << i;
  }
}

// 16 x 32 codes times 8 columns of 32.
constexpr char kBytes[] =
    "kernel k { in a: u8[512] in b: i8[256] out c: i32[128] block m: u8[512] block n: i8[256]\n"
    "thread h: i32[4] reg x: u8x16[1] reg y: i8x8[1] reg z: i32x4[1]\n"
    "parallel for p in 0 .. 1 { threads for t in 0 .. 32 {\n"
    "copy_async m[mul(t, 16)] = a[mul(t, 16), lanes=16]\n"
    "if less(t, 16) { copy_async n[mul(t, 16)] = b[mul(t, 16), lanes=16] }\n"
    "commit_copies wait_copies 0 barrier\n"
    "load_matrix x[0] = m[add(mul(mod(t, 16), 32), mul(div(t, 16), 16))]\n"
    "load_matrix y[0] = n[add(mul(mod(t, 8), 32), mul(mod(div(t, 8), 2), 16))]\n"
    "z[0] = broadcast(i32(START), 4)\n"
    "mma z[0] += x[0] * y[0]\n"
    "h[0] = z[0]\n"
    "let at = add(mul(div(t, 4), 8), mul(mod(t, 4), 2))\n"
    "c[at] = h[0, lanes=2]\n"
    "c[add(at, 64)] = h[2, lanes=2]\n} } }";

TEST(GpuMatrix, ProductsOfBytesAreExactAndWrap) {
  std::vector<double> x = Scrambled(512, 5), y = Scrambled(256, 6);
  for (double& value : x) value = std::floor((value + 4) * 32);
  for (double& value : y) value = std::floor(value * 32);
  for (const int64_t start : {int64_t{-1000}, int64_t{2147483647}}) {
    std::string text = kBytes;
    text.replace(text.find("START"), 5, std::to_string(start));
    Param a(DType::kU8, x), b(DType::kI8, y), c(DType::kI32, 128);
    const Status status = RunText(text, {a.bytes(), b.bytes(), c.bytes()});
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (size_t i = 0; i < 128; ++i) {
      int64_t sum = start;
      for (size_t k = 0; k < 32; ++k) {
        sum += static_cast<int64_t>(x[i / 8 * 32 + k]) * static_cast<int64_t>(y[i % 8 * 32 + k]);
      }
      ASSERT_EQ(c[i], static_cast<double>(static_cast<int32_t>(sum))) << i;
    }
  }
}

constexpr char kTf32[] =
    "kernel k { in a: f32[128] in b: f32[128] out c: f32[256] thread h: f32[4] thread ah: f32[4]\n"
    "thread bh: f32[4] reg x: f32x4[1] reg y: f32x4[1] reg z: f32x4[2]\n"
    "parallel for p in 0 .. 1 { threads for t in 0 .. 32 {\n"
    "let g = div(t, 4) let l = mod(t, 4)\n"
    "ah[0] = a[add(mul(g, 8), l)]\n"
    "ah[1] = a[add(mul(add(g, 8), 8), l)]\n"
    "ah[2] = a[add(mul(g, 8), add(l, 4))]\n"
    "ah[3] = a[add(mul(add(g, 8), 8), add(l, 4))]\n"
    "for i in 0 .. 2 {\n"
    "bh[mul(i, 2)] = b[add(mul(l, 16), add(g, mul(i, 8)))]\n"
    "bh[add(mul(i, 2), 1)] = b[add(mul(add(l, 4), 16), add(g, mul(i, 8)))]\n"
    "}\n"
    "x[0] = ROUND(ah[0, lanes=4])\n"
    "y[0] = round_tf32(bh[0, lanes=4])\n"
    "unrolled for u in 0 .. 2 { z[u] = broadcast(f32(0), 4) }\n"
    "mma z[0] += x[0] * y[0]\n"
    "mma z[1] += x[0] * y[0] part=1\n"
    "unrolled for v in 0 .. 2 {\n"
    "h[0] = z[v]\n"
    "let at = add(mul(g, 16), add(mul(l, 2), mul(v, 8)))\n"
    "c[at] = h[0, lanes=2]\n"
    "c[add(at, 128)] = h[2, lanes=2]\n"
    "} } } }";

TEST(GpuMatrix, Tf32TakesRoundedOperandsAndParts) {
  std::string text = kTf32;
  text.replace(text.find("ROUND"), 5, "round_tf32");
  std::vector<double> rounded_a = Scrambled(128, 3), rounded_b = Scrambled(128, 4);
  Param a(DType::kF32, rounded_a), b(DType::kF32, rounded_b), c(DType::kF32, 256);
  const Status status = RunText(text, {a.bytes(), b.bytes(), c.bytes()});
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (double& value : rounded_a) value = scalar::RoundToTf32(static_cast<float>(value));
  for (double& value : rounded_b) value = scalar::RoundToTf32(static_cast<float>(value));
  const std::vector<double> want =
      Product(Param(DType::kF32, rounded_a), Param(DType::kF32, rounded_b), 16, 16, 8, 8, 0);
  for (size_t i = 0; i < 256; ++i) ASSERT_EQ(c[i], want[i]) << i;

  // What is not rounded loses the low bits.
  text.replace(text.find("round_tf32"), 10, "neg");
  ASSERT_TRUE(RunText(text, {a.bytes(), b.bytes(), c.bytes()}).ok());
  std::vector<double> cut_a = Scrambled(128, 3);
  for (double& value : cut_a) {
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(-value));
    value = std::bit_cast<float>(bits & 0xffffe000U);
  }
  const std::vector<double> cut =
      Product(Param(DType::kF32, cut_a), Param(DType::kF32, rounded_b), 16, 16, 8, 8, 0);
  for (size_t i = 0; i < 256; ++i) ASSERT_EQ(c[i], cut[i]) << i;
}

// Each thread's 2 * m lanes of m matrices, row r of matrix m holding 64 m + 8 r and on.
std::vector<double> Loaded(int matrices, bool transposed) {
  const std::string lanes = std::to_string(matrices * 2);
  Param in(DType::kI16, Counting(256)), out(DType::kI16, static_cast<size_t>(64 * matrices));
  const Status status =
      RunText("kernel k { in a: i16[256] out c: i16[" + std::to_string(64 * matrices) +
                  "] block m: i16[256] reg x: i16x" + lanes +
                  "[1] parallel for p in 0 .. 1 { threads for t in 0 .. 32 {\n"
                  "m[mul(t, 8)] = a[mul(t, 8), lanes=8] warp_barrier\n"
                  "load_matrix " +
                  (transposed ? "transposed " : "") +
                  "x[0] = m[mul(t, 8)]\n"
                  "c[mul(t, " +
                  lanes + ")] = x[0]\n} } }",
              {in.bytes(), out.bytes()});
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<double> values;
  for (size_t i = 0; i < static_cast<size_t>(64 * matrices); ++i) values.push_back(out[i]);
  return values;
}

TEST(GpuMatrix, LoadsOneTwoOrFourMatrices) {
  for (const int matrices : {1, 2, 4}) {
    for (const bool transposed : {false, true}) {
      const std::vector<double> got = Loaded(matrices, transposed);
      for (int t = 0; t < 32; ++t) {
        for (int lane = 0; lane < matrices * 2; ++lane) {
          const int row = transposed ? t % 4 * 2 + lane % 2 : t / 4;
          const int column = transposed ? t / 4 : t % 4 * 2 + lane % 2;
          ASSERT_EQ(got[static_cast<size_t>(t * matrices * 2 + lane)],
                    lane / 2 * 64 + row * 8 + column);
        }
      }
    }
  }
}

TEST(GpuMatrix, LoadsWordsOfF32) {
  for (const int matrices : {1, 2, 4}) {
    const std::string lanes = std::to_string(matrices);
    Param in(DType::kF32, Counting(128)), out(DType::kF32, static_cast<size_t>(32 * matrices));
    const Status status =
        RunText("kernel k { in a: f32[128] out c: f32[" + std::to_string(32 * matrices) +
                    "] block m: f32[128] reg x: f32x" + lanes +
                    "[1] parallel for p in 0 .. 1 { threads for t in 0 .. 32 {\n"
                    "m[mul(t, 4)] = a[mul(t, 4), lanes=4] warp_barrier\n"
                    "load_matrix x[0] = m[mul(t, 4)]\n"
                    "c[mul(t, " +
                    lanes + ")] = x[0]\n} } }",
                {in.bytes(), out.bytes()});
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (int t = 0; t < 32; ++t) {
      for (int m = 0; m < matrices; ++m) {
        ASSERT_EQ(out[static_cast<size_t>(t * matrices + m)], m * 32 + t / 4 * 4 + t % 4);
      }
    }
  }
}

// Decodes the fragment `part` of one thread's words.
std::vector<double> Unpacked(DType dtype, const std::string& how, const std::vector<double>& words,
                             const std::vector<double>& zeros, const std::vector<double>& scales,
                             DType of = DType::kI32) {
  const std::string type(ToText(dtype)), code(ToText(of)), count = std::to_string(words.size());
  std::vector<double> all;
  for (int t = 0; t < 32; ++t) all.insert(all.end(), words.begin(), words.end());
  Param codes(of, all), z(dtype, zeros), s(dtype, scales), out(dtype, 256);
  const Status status = RunText("kernel k { in a: " + code + "[" + std::to_string(all.size()) +
                                    "] in z: " + type + "[2] in s: " + type + "[2] out c: " + type +
                                    "[256] reg w: " + code + "x" + count + "[1] reg zero: " + type +
                                    "x2[1] reg scale: " + type + "x2[1] reg x: " + type +
                                    "x8[1]\n"
                                    "parallel for p in 0 .. 1 { threads for t in 0 .. 32 {\n"
                                    "w[0] = a[mul(t, " +
                                    count + "), lanes=" + count +
                                    "] zero[0] = z[0, lanes=2] scale[0] = s[0, lanes=2]\n"
                                    "unpack x[0] = w[0] - zero[0] * scale[0] " +
                                    how +
                                    "\n"
                                    "c[mul(t, 8)] = x[0]\n} } }",
                                {codes.bytes(), z.bytes(), s.bytes(), out.bytes()});
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<double> lanes;
  for (size_t i = 0; i < 8; ++i) lanes.push_back(out[248 + i]);
  return lanes;
}

TEST(GpuMatrix, UnpacksCodesOfFewBits) {
  // Codes 7 5 3 1 in the low half, 6 4 2 0 in the high one, from the low bits up; the sign is a
  // bit.
  const std::vector<double> four = {0, 0x02461357, 0, static_cast<double>(int32_t(0x8fffffff))};
  using Lanes = std::vector<double>;
  EXPECT_EQ(Unpacked(DType::kBF16, "bits=4 part=1", four, {1, 0}, {2, 10}),
            (Lanes{12, 10, 50, 40, 4, 2, 10, 0}));
  EXPECT_EQ(Unpacked(DType::kBF16, "bits=4 part=1 bias=128", four, {129, 128}, {2, 10}),
            (Lanes{12, 10, 50, 40, 4, 2, 10, 0}));
  EXPECT_EQ(Unpacked(DType::kF16, "bits=4 part=3", four, {0, 0}, {1, 1}),
            (Lanes{15, 15, 15, 15, 15, 15, 15, 8}));
  const std::vector<double> eight = {0, 0, 0x04030201, static_cast<double>(int32_t(0xff070605))};
  EXPECT_EQ(Unpacked(DType::kF16, "bits=8 part=1 bias=1024", eight, {1024, 1025}, {1, 2}),
            (Lanes{1, 2, 4, 6, 5, 6, 12, 508}));
  // Rounded after the difference and after the product: 1.0078125 * 1.0078125 in bf16.
  EXPECT_EQ(Unpacked(DType::kBF16, "bits=8 part=1", eight, {0, 0}, {1.0078125, 1})[4], 5.03125);
}

TEST(GpuMatrix, UnpacksFloat8) {
  const std::vector<double> codes = {0, 0,    0,           0, 0, 0,   0,   0,
                                     1, -448, 0.001953125, 2, 3, 0.5, 240, 1.125};
  EXPECT_EQ(Unpacked(DType::kF16, "bits=8 part=1", codes, {5, 5}, {2, 0.5}, DType::kF8E4M3Fn),
            (std::vector<double>{2, -896, 0.0009765625, 1, 6, 1, 120, 0.5625}));
}

TEST(GpuMatrix, UnpackingTakesFittingRegisters) {
  const auto error = [](const std::string& registers, const std::string& how) {
    const Result<Kernel> kernel =
        Kernel::Parse("kernel k { reg w: i32x4[1] reg h: f16x2[1] " + registers +
                      " parallel for p in 0 .. 1 { threads for t in 0 .. 32 {\n" + how + "} } }");
    return kernel.ok() ? kernel->Verify().message() : kernel.status().message();
  };
  EXPECT_EQ(error("reg x: f16x8[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=4 part=3"), "");
  for (const auto& [registers, how] : std::vector<std::pair<std::string, std::string>>{
           {"reg x: f32x8[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=4"},
           {"reg x: f16x4[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=4"},
           {"reg x: bf16x8[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=4"},
           {"reg x: f16x8[1]", "unpack x[0] = x[0] - h[0] * h[0] bits=4"},
           {"reg x: f16x8[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=2"},
           {"reg x: f16x8[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=4 part=4"},
           {"reg x: f16x8[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=8 part=2"},
           {"reg x: f16x8[1]", "unpack x[0] = w[0] - h[0] * h[0] bits=4 bias=128"}}) {
    EXPECT_NE(error(registers, how), "") << registers << how;
  }
}

// The error of a kernel of 64 threads with an f16 block buffer of 512 elements that is all zero.
std::string ErrorOf(const std::string& body) {
  Param out(DType::kF32, 64);
  const Status status = RunText(
      "kernel k { out c: f32[64] block m: f16[512] reg x: f16x8[1] reg y: f16x4[1]\n"
      "reg z: f32x4[1]\n"
      "parallel for p in 0 .. 1 { threads for t in 0 .. 64 {\n"
      "m[mul(t, 8)] = broadcast(f16(0), 8) x[0] = broadcast(f16(0), 8)\n"
      "z[0] = broadcast(f32(0), 4) barrier\n" +
          body + "\n} } }",
      {out.bytes()});
  return status.message();
}

TEST(GpuMatrix, ErrorsNameThePlace) {
  EXPECT_EQ(ErrorOf("load_matrix x[0] = m[mul(t, 4)]"),
            "kernel 'k' loads a matrix row at 'm[4]', which is not aligned to 16 bytes, in thread "
            "1 of block 0 of launch 0");
  EXPECT_EQ(ErrorOf("load_matrix x[0] = m[mul(t, 16)]"),
            "kernel 'k' reads 'm[512]' outside its 512 elements, in thread 32 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("if less(t, 40) { load_matrix x[0] = m[0] }"),
            "kernel 'k' reaches load_matrix with 8 of the 32 threads of warp 1, in thread 32 of "
            "block 0 of launch 0");
  EXPECT_EQ(ErrorOf("if less(t, 32) { load_matrix x[0] = m[0] }"), "");
  EXPECT_EQ(ErrorOf("mma z[0] += x[0] * y[0]"),
            "kernel 'k' reads 'y[0]', which was never written, in thread 0 of block 0 of launch "
            "0");
  EXPECT_EQ(ErrorOf("if less(0, t) { mma z[0] += x[0] * y[0] }"),
            "kernel 'k' reaches mma with 31 of the 32 threads of warp 0, in thread 1 of block 0 "
            "of launch 0");
  EXPECT_EQ(ErrorOf("load_matrix x[1] = m[0]"),
            "kernel 'k' writes 'x[1]' outside its 1 elements, in thread 0 of block 0 of launch 0");
}

}  // namespace
}  // namespace mlc::ir
