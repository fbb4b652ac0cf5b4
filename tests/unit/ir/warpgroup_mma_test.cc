// warpgroup_mma: its text, the verifier's rules, and the interpreter against plain products.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "tests/unit/ir/gpu_run.h"

namespace mlc::ir {
namespace {

constexpr int kRows = 64, kColumns = 16;

int DepthOf(DType dtype) { return 128 / static_cast<int>(SizeOf(dtype)); }

std::vector<double> Scrambled(size_t count, uint32_t seed) {
  std::vector<double> values(count);
  for (double& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = (static_cast<double>(seed >> 8) / double{1 << 24} - 0.5) * 8;
  }
  return values;
}

// Rows of `depth` values, their pieces of 16 bytes exchanged as the matrix unit expects them.
std::vector<double> Swizzled(const std::vector<double>& rows, DType dtype) {
  const auto depth = static_cast<size_t>(DepthOf(dtype)), piece = depth / 8;
  std::vector<double> values(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t row = i / depth, k = i % depth;
    values[row * depth + ((k / piece) ^ (row % 8)) * piece + k % piece] = rows[i];
  }
  return values;
}

// One tile of 64 x 16. FENCE, BEFORE (the wait for the product) and WAIT are to be replaced.
std::string Text(DType dtype) {
  const int depth = DepthOf(dtype);
  const std::string type(ToText(dtype)), piece = std::to_string(depth / 8);
  const std::string a = std::to_string(kRows * depth), b = std::to_string(kColumns * depth);
  return "kernel k { in a: " + type + "[" + a + "] in b: " + type + "[" + b +
         "] out c: f32[1024]\nblock m: " + type + "[" + a + "] block n: " + type + "[" + b +
         "] thread h: f32[4] reg z: f32x4[2]\n"
         "parallel for p in 0 .. 1 { threads for t in 0 .. 128 {\n"
         "for i in 0 .. 4 { let at = mul(add(mul(i, 128), t), " +
         piece + ") copy_async m[at] = a[at, lanes=" + piece + "] }\ncopy_async n[mul(t, " + piece +
         ")] = b[mul(t, " + piece + "), lanes=" + piece +
         "]\ncommit_copies wait_copies 0 FENCE barrier\n"
         "z[0] = broadcast(f32(0.5), 4) z[1] = broadcast(f32(0.5), 4)\n"
         "warpgroup_mma z[0] += m[0] * n[0] columns=16\nBEFORE WAIT\n"
         "let r = add(mul(div(t, 32), 16), div(mod(t, 32), 4))\n"
         "unrolled for j in 0 .. 2 {\nh[0] = z[j]\n"
         "let to = add(mul(r, 16), add(mul(j, 8), mul(mod(t, 4), 2)))\n"
         "c[to] = h[0, lanes=2]\nc[add(to, 128)] = h[2, lanes=2]\n} } } }";
}

std::string With(std::string text, const std::string& fence, const std::string& before,
                 const std::string& wait) {
  for (const auto& [from, to] :
       {std::pair{"FENCE", fence}, std::pair{"BEFORE", before}, std::pair{"WAIT", wait}}) {
    text.replace(text.find(from), std::string(from).size(), to);
  }
  return text;
}

double Tf32(double value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) & 0xffffe000U);
}

TEST(WarpgroupMma, ProductsAreExactAndRoundOnceForEachStep) {
  for (const DType dtype :
       {DType::kF16, DType::kBF16, DType::kF32, DType::kF8E4M3Fn, DType::kF8E5M2}) {
    const auto depth = static_cast<size_t>(DepthOf(dtype));
    const std::vector<double> x = Scrambled(kRows * depth, 1), y = Scrambled(kColumns * depth, 2);
    Param a(dtype, Swizzled(x, dtype)), b(dtype, Swizzled(y, dtype)), c(DType::kF32, 1024);
    const Status status = RunText(With(Text(dtype), "fence_tiles", "", "wait_products 0"),
                                  {a.bytes(), b.bytes(), c.bytes()});
    ASSERT_TRUE(status.ok()) << status.ToString();
    const Param rows(dtype, x), columns(dtype, y);
    for (size_t i = 0; i < 1024; ++i) {
      double sum = 0.5;
      for (size_t k = 0; k < depth; ++k) {
        double p = rows[i / kColumns * depth + k], q = columns[i % kColumns * depth + k];
        if (dtype == DType::kF32) p = Tf32(p), q = Tf32(q);
        sum += p * q;
        if (k % (depth / 4) == depth / 4 - 1) sum = static_cast<float>(sum);
      }
      ASSERT_EQ(c[i], sum) << ToText(dtype) << " " << i;
    }
  }
}

TEST(WarpgroupMma, ProductsOfBytesAreExact) {
  std::string text = Text(DType::kU8);
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("in b: u8", "in b: i8");
  replace("block n: u8", "block n: i8");
  replace("out c: f32", "out c: i32");
  replace("thread h: f32[4] reg z: f32x4[2]", "thread h: i32[4] reg z: i32x4[2]");
  replace("f32(0.5)", "i32(-9)");
  replace("f32(0.5)", "i32(-9)");
  const size_t depth = 128;
  std::vector<double> x = Scrambled(kRows * depth, 1), y = Scrambled(kColumns * depth, 2);
  for (double& value : x) value = std::floor((value + 4) * 32);
  for (double& value : y) value = std::floor(value * 32);
  Param a(DType::kU8, Swizzled(x, DType::kU8)), b(DType::kI8, Swizzled(y, DType::kI8));
  Param c(DType::kI32, 1024);
  const Status status =
      RunText(With(text, "fence_tiles", "", "wait_products 0"), {a.bytes(), b.bytes(), c.bytes()});
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (size_t i = 0; i < 1024; ++i) {
    double sum = -9;
    for (size_t k = 0; k < depth; ++k) {
      sum += x[i / kColumns * depth + k] * y[i % kColumns * depth + k];
    }
    ASSERT_EQ(c[i], sum) << i;
  }
}

// The same with the rows in registers, read from memory as they are; OP is to be replaced.
std::string RegistersText(const std::string& op) {
  std::string text = Text(DType::kF32);
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("reg z: f32x4[2]", "reg z: f32x4[2] reg q: f32x4[4]");
  replace(
      "z[0] = broadcast(f32(0.5), 4) z[1] = broadcast(f32(0.5), 4)\n",
      "let x = add(mul(div(t, 32), 16), div(mod(t, 32), 4))\n"
      "unrolled for s in 0 .. 4 {\nlet from = add(mul(x, 32), add(mul(s, 8), mod(t, 4)))\n"
      "h[0] = a[from] h[1] = a[add(from, 256)] h[2] = a[add(from, 4)] h[3] = a[add(from, 260)]\n"
      "q[s] = h[0, lanes=4] }\n");
  replace("warpgroup_mma z[0] += m[0] * n[0] columns=16\n",
          "warpgroup_mma z[0] " + op + " q[0] * n[0] columns=16\n");
  return text;
}

TEST(WarpgroupMma, RowsMayBeInRegistersAndSumsBegin) {
  const std::vector<double> x = Scrambled(kRows * 32, 1), y = Scrambled(kColumns * 32, 2);
  const auto run = [&](const std::string& op, const std::string& before, Param& c) {
    Param a(DType::kF32, x), b(DType::kF32, Swizzled(y, DType::kF32));
    return RunText(With(RegistersText(op), "fence_tiles", before, "wait_products 0"),
                   {a.bytes(), b.bytes(), c.bytes()});
  };
  Param once(DType::kF32, 1024), twice(DType::kF32, 1024);
  const Status status = run("=", "", once);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ASSERT_TRUE(run("=", "warpgroup_mma z[0] += q[0] * n[0] columns=16", twice).ok());
  const Param rows(DType::kF32, x), columns(DType::kF32, y);
  for (size_t i = 0; i < 1024; ++i) {
    double sum = 0;
    for (size_t pass = 0; pass < 2; ++pass) {
      for (size_t k = 0; k < 32; ++k) {
        sum += Tf32(rows[i / kColumns * 32 + k]) * Tf32(columns[i % kColumns * 32 + k]);
        if (k % 8 == 7) sum = static_cast<float>(sum);
      }
      ASSERT_EQ((pass == 0 ? once : twice)[i], sum) << i;
    }
  }
  Param unused(DType::kF32, 1024);
  EXPECT_EQ(run("+=", "", unused).message(),
            "kernel 'k' reads 'z[0]', which was never written, in thread 0 of block 0 of launch 0");
}

// The second operand as 64 steps of k by 128 columns, in two blocks; the first in registers.
TEST(WarpgroupMma, ColumnsMayLieAcrossK) {
  constexpr size_t kDepth = 64, kAll = 128;
  const std::vector<double> x = Scrambled(kRows * kDepth, 1), y = Scrambled(kDepth * kAll, 2);
  const std::string text =
      "kernel k { in a: f16[4096] in b: f16[8192] out c: f32[8192] block n: f16[8192]\n"
      "thread h: f32[4] thread g: f16[4] reg z: f32x4[16] reg q: f16x4[8]\n"
      "parallel for p in 0 .. 1 { threads for t in 0 .. 128 {\n"
      "for i in 0 .. 8 { let at = mul(add(mul(i, 128), t), 8) copy_async n[at] = b[at, lanes=8] }\n"
      "commit_copies wait_copies 0 fence_tiles barrier\n"
      "unrolled for u in 0 .. 16 { z[u] = broadcast(f32(0.5), 4) }\n"
      "let x = add(mul(div(t, 32), 16), div(mod(t, 32), 4))\n"
      "unrolled for s in 0 .. 8 {\n"
      "let from = add(mul(x, 64), add(mul(s, 8), mul(mod(t, 4), 2)))\n"
      "g[0] = a[from, lanes=2] g[2] = a[add(from, 512), lanes=2] q[s] = g[0, lanes=4] }\n"
      "warpgroup_mma z[0] += q[0] * n[0] columns=128 across=4096\nwait_products 0\n"
      "unrolled for j in 0 .. 16 {\nh[0] = z[j]\n"
      "let to = add(mul(x, 128), add(mul(j, 8), mul(mod(t, 4), 2)))\n"
      "c[to] = h[0, lanes=2]\nc[add(to, 1024)] = h[2, lanes=2]\n} } } }";
  std::vector<double> blocks(y.size());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t k = i / kAll, column = i % kAll, piece = column % 64 / 8;
    blocks[column / 64 * 4096 + k * 64 + (piece ^ (k % 8)) * 8 + column % 8] = y[i];
  }
  Param a(DType::kF16, x), b(DType::kF16, blocks), c(DType::kF32, kRows * kAll);
  const Status status = RunText(text, {a.bytes(), b.bytes(), c.bytes()});
  ASSERT_TRUE(status.ok()) << status.ToString();
  const Param rows(DType::kF16, x), columns(DType::kF16, y);
  for (size_t i = 0; i < kRows * kAll; ++i) {
    double sum = 0.5;
    for (size_t k = 0; k < kDepth; ++k) {
      sum += rows[i / kAll * kDepth + k] * columns[k * kAll + i % kAll];
      if (k % 16 == 15) sum = static_cast<float>(sum);
    }
    ASSERT_EQ(c[i], sum) << i;
  }
}

// What the interpreter says of the tile when parts of it are replaced.
std::string FaultOf(const std::string& fence, const std::string& before, const std::string& wait) {
  Param a(DType::kF16, Scrambled(4096, 1)), b(DType::kF16, Scrambled(1024, 2));
  Param c(DType::kF32, 1024);
  return RunText(With(Text(DType::kF16), fence, before, wait), {a.bytes(), b.bytes(), c.bytes()})
      .message();
}

TEST(WarpgroupMma, WritesMustBeFenced) {
  EXPECT_EQ(FaultOf("", "", "wait_products 0"),
            "kernel 'k' reaches warpgroup_mma with writes to shared memory that no fence_tiles "
            "covers, in thread 0 of block 0 of launch 0");
}

TEST(WarpgroupMma, SumsAreThereAfterTheWait) {
  EXPECT_EQ(FaultOf("fence_tiles", "", ""),
            "kernel 'k' reads 'z[0]', which was never written, in thread 0 of block 0 of launch 0");
  EXPECT_EQ(FaultOf("fence_tiles", "", "wait_products 1"),
            "kernel 'k' reads 'z[0]', which was never written, in thread 0 of block 0 of launch 0");
  const std::string again = "warpgroup_mma z[0] += m[0] * n[0] columns=16\n";
  EXPECT_EQ(FaultOf("fence_tiles", again, "wait_products 0"), "");
  EXPECT_EQ(FaultOf("fence_tiles", again, "wait_products 1"),
            "kernel 'k' reads 'z[0]', which was never written, in thread 0 of block 0 of launch 0");
}

TEST(WarpgroupMma, TilesStayUntilTheWait) {
  EXPECT_EQ(FaultOf("fence_tiles", "barrier m[t] = a[t]", "wait_products 0"),
            "kernel 'k' multiplies 'm[1]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(
      FaultOf("fence_tiles", "barrier copy_async m[mul(t, 8)] = a[0, lanes=8]", "wait_products 0"),
      "kernel 'k' multiplies 'm[0]' while a copy is under way there, in thread 0 of block 0 "
      "of launch 0");
  EXPECT_EQ(FaultOf("fence_tiles", "", "wait_products 0 barrier m[t] = a[t]"), "");
}

TEST(WarpgroupMma, TilesAreAlignedAndTheWarpgroupsOwn) {
  EXPECT_EQ(
      FaultOf("fence_tiles", "warpgroup_mma z[0] += m[0] * n[8] columns=8", "wait_products 0"),
      "kernel 'k' multiplies a tile at 'n[8]', which is not aligned to 1024 bytes, in thread "
      "0 of block 0 of launch 0");
  EXPECT_EQ(FaultOf("fence_tiles", "warpgroup_mma z[0] += m[0] * n[mul(mod(t, 2), 512)] columns=8",
                    "wait_products 0"),
            "kernel 'k' multiplies other tiles than its warpgroup, in thread 1 of block 0 of "
            "launch 0");
  EXPECT_EQ(FaultOf("fence_tiles", "", "if less(t, 32) { wait_products 0 }"),
            "kernel 'k' reaches wait_products with less than a warpgroup of 128 threads, in thread "
            "0 of block 0 of launch 0");
}

std::string MessageOf(const std::string& body, int threads = 128) {
  const Result<Kernel> kernel = Kernel::Parse(
      "kernel k { in a: f16[64] block m: f16[4096] block w: f32[2048] block d: f64[8]\n"
      "reg x: f16x8[2] reg y: f32x2[4] reg z: f32x4[8]\n"
      "parallel for p in 0 .. 1 { threads for t in 0 .. " +
      std::to_string(threads) + " {\n" + body + "\n} } }");
  return kernel.ok() ? kernel->ToText() : kernel.status().message();
}

TEST(WarpgroupMma, TextReadsBack) {
  const std::string text =
      MessageOf("fence_tiles warpgroup_mma z[0] += m[0] * m[0] columns=64 wait_products 2");
  EXPECT_NE(text.find("      fence_tiles\n"
                      "      warpgroup_mma z[0] += m[0] * m[0] columns=64\n"
                      "      wait_products 2\n"),
            std::string::npos)
      << text;
  const std::string registers = MessageOf("warpgroup_mma z[4] = z[0] * w[0] columns=32");
  EXPECT_NE(registers.find("      warpgroup_mma z[4] = z[0] * w[0] columns=32\n"),
            std::string::npos)
      << registers;
}

TEST(WarpgroupMma, VerifierNamesWhatIsWrong) {
  for (const char* wrong : {"columns=32 across=4096", "columns=64 across=100"}) {
    EXPECT_EQ(
        MessageOf(std::string("warpgroup_mma z[0] += m[0] * m[0] ") + wrong),
        "kernel 'k': warpgroup_mma of 'm' and 'm' into 'z' lies across k, but is not of whole "
        "blocks of f16 or bf16");
  }
  EXPECT_EQ(MessageOf("set_registers 240"), "kernel 'k': set_registers outside roles");
  const std::string bad = "kernel 'k': set_registers to a number that is not 24 to 240 by 8";
  EXPECT_EQ(MessageOf("roles if less(t, 128) { set_registers 100 }", 256), bad);
  EXPECT_EQ(MessageOf("roles if less(t, 128) { set_registers 248 }", 256), bad);
  EXPECT_EQ(MessageOf("warpgroup_mma z[0] += a[0] * m[0] columns=64"),
            "kernel 'k': warpgroup_mma of 'a' and 'm' into 'z' is not from shared memory");
  EXPECT_EQ(MessageOf("warpgroup_mma x[0] += m[0] * m[0] columns=64"),
            "kernel 'k': warpgroup_mma of 'm' and 'm' into 'x' does not sum in f32x4, or in i32x4 "
            "of bytes");
  EXPECT_EQ(MessageOf("warpgroup_mma z[0] += m[0] * w[0] columns=64"),
            "kernel 'k': warpgroup_mma of 'm' and 'w' into 'z' takes two f16, bf16 or f32, float8, "
            "or u8 and i8");
  EXPECT_EQ(MessageOf("warpgroup_mma z[0] += d[0] * d[0] columns=64"),
            "kernel 'k': warpgroup_mma of 'd' and 'd' into 'z' takes two f16, bf16 or f32, float8, "
            "or u8 and i8");
  EXPECT_EQ(MessageOf("warpgroup_mma z[0] += x[0] * m[0] columns=64"),
            "kernel 'k': warpgroup_mma of 'x' and 'm' into 'z' takes registers of 4 lanes alone");
  EXPECT_EQ(MessageOf("warpgroup_mma z[0] += y[0] * w[0] columns=64"),
            "kernel 'k': warpgroup_mma of 'y' and 'w' into 'z' takes registers of 4 lanes alone");
  EXPECT_EQ(MessageOf("warpgroup_mma z[0] += m[0] * x[0] columns=64"),
            "kernel 'k': warpgroup_mma of 'm' and 'x' into 'z' is not from shared memory");
  for (const char* columns : {"0", "12", "264"}) {
    EXPECT_EQ(MessageOf(std::string("warpgroup_mma z[0] += m[0] * m[0] columns=") + columns),
              "kernel 'k': warpgroup_mma of 'm' and 'm' into 'z' is not of 8 to 256 columns by 8");
  }
  EXPECT_EQ(MessageOf("warpgroup_mma z[0] += m[0] * m[0] columns=64", 96),
            "kernel 'k': warpgroup_mma of 'm' and 'm' into 'z' in a block that is not of "
            "warpgroups of 128 threads");
}

}  // namespace
}  // namespace mlc::ir
