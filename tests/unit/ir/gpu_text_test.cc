// The text form and the verifier's rules of GPU kernels.
#include <gtest/gtest.h>

#include <string>

#include "compiler/ir/build.h"

namespace mlc::ir {
namespace {

constexpr char kEveryForm[] =
    "kernel every_form approximate {\n"
    "  in a: f16[1024]\n"
    "  in w: f32[64]\n"
    "  out c: f32[1024]\n"
    "  shared partial: f32[1024]\n"
    "  counter ready: i32[4]\n"
    "  block tile: f16[512]\n"
    "  block row: f32[128] overlays tile\n"
    "  block other: i32[8]\n"
    "  reg x: f16x8[2]\n"
    "  reg y: f16x8[1]\n"
    "  reg acc: f32x4[2]\n"
    "  reg u: f32x4[1]\n"
    "  reg v: f32x2[1]\n"
    "  parallel for block_index in 0 .. 4 {\n"
    "    threads for t in 0 .. 64 per_sm 2 {\n"
    "      await_inputs\n"
    "      copy_async tile[mul(t, 8)] = a[mul(t, 8), lanes=8]\n"
    "      copy_async tile[mul(t, 2)] = a[t, lanes=2, mask=sub(64, t)]\n"
    "      commit_copies\n"
    "      wait_copies 0\n"
    "      barrier\n"
    "      load_matrix x[0] = tile[mul(mod(t, 16), 8)]\n"
    "      load_matrix transposed y[0] = tile[0]\n"
    "      unrolled for i in 0 .. 2 {\n"
    "        mma acc[i] += x[0] * y[0] part=1\n"
    "        mma acc[i] += x[sub(1, i)] * y[0]\n"
    "      }\n"
    "      mma acc[0] += u[0] * v[0]\n"
    "      warp_barrier\n"
    "      row[t] = add(shuffle_xor(w[t], 16), f32(1.0))\n"
    "      release_dependents\n"
    "      arrive last = ready[block_index] of 4\n"
    "      if equal(last, 1) {\n"
    "        c[t] = row[t]\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  parallel for b in 0 .. 2 {\n"
    "    threads for s in 0 .. 32 {\n"
    "      partial[s] = f32(0.0)\n"
    "    }\n"
    "  }\n"
    "}\n";

TEST(GpuText, EveryFormReadsBack) {
  const Result<Kernel> kernel = Kernel::Parse(kEveryForm);
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  EXPECT_EQ(kernel->ToText(), kEveryForm);
  EXPECT_TRUE(kernel->IsGpu());
  EXPECT_TRUE(kernel->approximate);
  EXPECT_EQ(kernel->buffers[6].overlays, 5);
}

TEST(GpuText, WhatTheBuilderMakesReadsBack) {
  KernelBuilder b("built");
  b.Approximate();
  const BufferId in = b.In("in_data", DType::kBF16, 256);
  const BufferId out = b.Out("out_data", DType::kF32, 256);
  const BufferId count = b.Counter("count", 1);
  const BufferId tile = b.SharedMemory("tile", DType::kBF16, 256);
  const BufferId over = b.SharedMemory("over", DType::kF32, 64, tile);
  const BufferId x = b.Registers("x", DType::kBF16, 8, 1);
  const BufferId y = b.Registers("y", DType::kBF16, 16, 1);
  const BufferId c = b.Registers("c", DType::kF32, 4, 1);
  b.Launch(2, 96, 3, [&](const ExprRef& block, const ExprRef& thread) {
    b.ReleaseDependents();
    b.AwaitInputs();
    b.CopyAsync(tile, thread * 2, in, block * 64 + thread * 2, 2, thread);
    b.CommitCopies();
    b.WaitCopies(3);
    b.WarpBarrier();
    b.LoadMatrix(x, Int(0), tile, Mod(thread, 16) * 8, true);
    b.Mma(c, Int(0), x, Int(0), y, Int(0), 3);
    b.Store(over, thread, MakeShuffleXor(Float(DType::kF32, 2), 31));
    b.Barrier();
    const ExprRef last = b.Arrive("last", count, Int(0), 2);
    b.If(MakeApply(ScalarOp::kEqual, {last, Int(1)}),
         [&] { b.Store(out, thread, b.Load(over, thread)); });
  });
  const Kernel kernel = b.Finish();
  EXPECT_TRUE(kernel.Verify().ok()) << kernel.Verify().ToString();
  const Result<Kernel> read = Kernel::Parse(kernel.ToText());
  ASSERT_TRUE(read.ok()) << read.status().ToString() << kernel.ToText();
  EXPECT_EQ(read->ToText(), kernel.ToText());
}

std::string MessageOf(const std::string& text) {
  const Result<Kernel> kernel = Kernel::Parse(text);
  if (kernel.ok()) return "accepted";
  EXPECT_EQ(kernel.status().code(), StatusCode::kInvalidArgument);
  return kernel.status().message();
}

// The error of a GPU kernel of 64 threads with `body`.
std::string ErrorOf(const std::string& body) {
  return MessageOf(
      "kernel k {\nin a: f16[64]\nin w: f32[64]\nout c: f32[64]\nshared s: f16[64]\n"
      "counter n: i32[1]\nblock m: f16[64]\nblock d: f64[8]\nblock g: f32[8]\nthread h: f16[8]\n"
      "reg x: f16x8[2]\nreg y: f16x4[1]\nreg z: f32x4[2]\nreg q: f32x8[1]\nreg p: bf16x4[1]\n"
      "reg r2: f16x2[1] reg r16: f16x16[1] block o: u8[64]\n"
      "reg u: u8x16[1] reg e: i8x16[1] reg v: i32x4[1]\n"
      "parallel for b in 0 .. 4 { threads for t in 0 .. 64 {\n" +
      body + "\n} } }");
}

TEST(GpuText, BadFormsNameTheirPlace) {
  EXPECT_EQ(ErrorOf("wait_copies -1"), "line 20, column 1: bad number of groups, found '} } }'");
  EXPECT_EQ(ErrorOf("wait_copies"),
            "line 20, column 1: expected an integer that fits 64 bits, found '} } }'");
  EXPECT_EQ(ErrorOf("copy_async m[0] = a[0]"), "line 19, column 22: expected ',', found ']'");
  EXPECT_EQ(ErrorOf("load_matrix x[0] = none[0]"),
            "line 19, column 24: unknown buffer 'none', found '[0]'");
  EXPECT_EQ(ErrorOf("mma z[0] = x[0] * y[0]"),
            "line 19, column 10: expected '+=', found '= x[0] * y[0]'");
  EXPECT_EQ(ErrorOf("arrive b = n[0] of 2"),
            "line 20, column 1: 'b' is declared twice, found '} } }'");
  EXPECT_EQ(ErrorOf("arrive barrier = n[0] of 2"),
            "line 19, column 16: 'barrier' cannot name a variable, found '= n[0] of 2'");
}

TEST(GpuVerify, ThreadsLoops) {
  const auto with = [](const std::string& phases) {
    return MessageOf("kernel k { out c: f32[8] " + phases + " }");
  };
  EXPECT_EQ(with("parallel for b in 0 .. 1 { threads for t in 0 .. 32 { } } "
                 "parallel for e in 0 .. 1 { }"),
            "kernel 'k': phase 'e' is not one threads loop, as all phases of a GPU kernel are");
  EXPECT_EQ(with("parallel for b in 0 .. 1 { threads for t in 0 .. 32 { } } "
                 "parallel for e in 0 .. 1 { threads for u in 0 .. 32 { } let i = e }"),
            "kernel 'k': phase 'e' is not one threads loop, as all phases of a GPU kernel are");
  EXPECT_EQ(with("parallel for b in 0 .. 1 { let i = b threads for t in 0 .. 32 { } }"),
            "kernel 'k': threads loop 't' is not the whole body of a phase");
  EXPECT_EQ(with("parallel for b in 0 .. 1 { threads for t in 0 .. 32 { "
                 "threads for u in 0 .. 32 { } } }"),
            "kernel 'k': threads loop 'u' is not the whole body of a phase");
  for (const char* range :
       {"0 .. 33", "0 .. 1056", "1 .. 32", "0 .. 0", "0 .. 64 step 2", "0 .. add(b, 32)"}) {
    EXPECT_EQ(with(std::string("parallel for b in 0 .. 1 { threads for t in ") + range + " { } }"),
              "kernel 'k': threads loop 't' does not run from 0 to a multiple of 32, at most 1024");
  }
  EXPECT_EQ(with("parallel for b in 0 .. 1 { threads for t in 0 .. 32 per_sm 33 { } }"),
            "kernel 'k': loop 't' has a per_sm that is not 1 to 32 of threads");
  EXPECT_EQ(with("parallel for b in 0 .. 1 per_sm 2 { threads for t in 0 .. 32 { } }"),
            "kernel 'k': loop 'b' has a per_sm that is not 1 to 32 of threads");
}

TEST(GpuVerify, GpuFormsNeedThreads) {
  const auto cpu = [](const std::string& buffer, const std::string& body) {
    return MessageOf("kernel k { in a: f32[8] out c: f32[8] " + buffer +
                     " parallel for p in 0 .. 4 { " + body + " } }");
  };
  EXPECT_EQ(cpu("block m: f32[8]", ""),
            "kernel 'k': buffer 'm' is of scope block in a kernel without threads");
  EXPECT_EQ(cpu("counter m: i32[8]", ""),
            "kernel 'k': buffer 'm' is of scope counter in a kernel without threads");
  EXPECT_EQ(cpu("", "barrier"), "kernel 'k': a GPU statement in a kernel without threads");
  EXPECT_EQ(cpu("", "arrive l = c[0] of 1"),
            "kernel 'k': a GPU statement in a kernel without threads");
  EXPECT_EQ(cpu("", "c[p] = shuffle_xor(a[p], 1)"),
            "kernel 'k': a GPU expression in a kernel without threads");
  EXPECT_EQ(cpu("", "c[p] = reduce_add(shuffle_xor(a[p, lanes=2], 2))"),
            "kernel 'k': a shuffle of a vector by other than a lane of it");
  EXPECT_EQ(cpu("", "c[p] = reduce_add(shuffle_xor(a[p, lanes=3], 1))"),
            "kernel 'k': a shuffle of a vector by other than a lane of it");
}

TEST(GpuVerify, Buffers) {
  const auto with = [](const std::string& buffers) {
    return MessageOf("kernel k { in a: f32[8] " + buffers +
                     " parallel for b in 0 .. 1 { threads for t in 0 .. 32 { } } }");
  };
  EXPECT_EQ(with("block m: f32[8] block o: f16[8] overlays m"), "accepted");
  EXPECT_EQ(with("counter n: i64[8]"), "kernel 'k': buffer 'n' counts in another than i32");
  EXPECT_EQ(with("block m: f32[8] overlays a"),
            "kernel 'k': buffer 'm' and 'a' under it are not a block buffer over one that overlays "
            "nothing");
  EXPECT_EQ(with("block m: f32[8] block o: f16[8] overlays m block q: f16[8] overlays o"),
            "kernel 'k': buffer 'q' and 'o' under it are not a block buffer over one that overlays "
            "nothing");
  Kernel kernel = *Kernel::Parse(
      "kernel k { block m: f32[8] "
      "parallel for b in 0 .. 1 { threads for t in 0 .. 32 { } } }");
  kernel.buffers[0].overlays = 0;
  EXPECT_EQ(kernel.Verify().message(), "kernel 'k': buffer 'm' overlays no earlier buffer");
}

TEST(GpuVerify, CopiesAndSync) {
  EXPECT_EQ(ErrorOf("await_inputs await_inputs"), "kernel 'k': a phase awaits its inputs twice");
  EXPECT_EQ(ErrorOf("copy_async m[0] = m[0, lanes=8]"),
            "kernel 'k': copy of 'm' to 'm' is not from global to shared memory");
  EXPECT_EQ(ErrorOf("copy_async h[0] = a[0, lanes=8]"),
            "kernel 'k': copy of 'a' to 'h' is not from global to shared memory");
  EXPECT_EQ(ErrorOf("copy_async d[0] = a[0, lanes=8]"),
            "kernel 'k': copy of 'a' to 'd' changes the type");
  EXPECT_EQ(ErrorOf("copy_async m[0] = a[0, lanes=3]"),
            "kernel 'k': copy of 'a' to 'm' is not of 4, 8 or 16 bytes");
  EXPECT_EQ(ErrorOf("copy_async m[0] = s[0, lanes=16]"),
            "kernel 'k': copy of 's' to 'm' is not of 4, 8 or 16 bytes");
  EXPECT_EQ(ErrorOf("copy_async m[0] = s[0, lanes=2] copy_async g[t] = w[t, lanes=1, mask=b]"),
            "accepted");
}

TEST(GpuVerify, MatrixOperands) {
  EXPECT_EQ(ErrorOf("load_matrix x[0] = s[0]"),
            "kernel 'k': load_matrix of 's' to 'x' is not from shared memory");
  EXPECT_EQ(ErrorOf("load_matrix z[0] = g[0]"), "accepted");
  EXPECT_EQ(ErrorOf("load_matrix transposed z[0] = g[0]"),
            "kernel 'k': load_matrix of 'g' to 'z' transposes elements that are not of 2 bytes");
  EXPECT_EQ(ErrorOf("load_matrix q[0] = g[0]"),
            "kernel 'k': load_matrix of 'g' to 'q' needs a register of 1, 2 or 4 lanes");
  EXPECT_EQ(ErrorOf("load_matrix z[0] = d[0]"),
            "kernel 'k': load_matrix of 'd' to 'z' is not of a 2-byte type, f32, u8 or i8");
  EXPECT_EQ(ErrorOf("load_matrix p[0] = m[0]"),
            "kernel 'k': load_matrix of 'm' to 'p' is not of a 2-byte type, f32, u8 or i8");
  EXPECT_EQ(ErrorOf("load_matrix r16[0] = m[0]"),
            "kernel 'k': load_matrix of 'm' to 'r16' needs a register of 2, 4 or 8 lanes");
  EXPECT_EQ(ErrorOf("load_matrix m[0] = m[0]"), "kernel 'k': 'm' is no register");
  EXPECT_EQ(ErrorOf("load_matrix x[t] = m[0]"),
            "kernel 'k': register 'x' has an index that is not constant");
  EXPECT_EQ(ErrorOf("mma z[0] += x[0] * y[0] mma z[0] += z[1] * q[0] part=3"), "accepted");
  EXPECT_EQ(ErrorOf("mma z[0] += x[0] * y[0] part=1"),
            "kernel 'k': an mma of a part past its operand");
  EXPECT_EQ(ErrorOf("mma z[0] += z[1] * q[0] part=4"),
            "kernel 'k': an mma of a part past its operand");
  EXPECT_EQ(ErrorOf("mma x[0] += x[0] * y[0]"),
            "kernel 'k': mma of 'x' and 'y' into 'x' does not sum in f32x4, or in i32x4 of bytes");
  EXPECT_EQ(ErrorOf("mma z[0] += x[0] * p[0]"),
            "kernel 'k': mma of 'x' and 'p' into 'z' takes two f16, bf16 or f32, or u8 and i8");
  EXPECT_EQ(ErrorOf("mma z[0] += y[0] * y[0]"),
            "kernel 'k': mma of 'y' and 'y' into 'z' has bad lanes");
  EXPECT_EQ(ErrorOf("mma z[0] += x[0] * r2[0]"),
            "kernel 'k': mma of 'x' and 'r2' into 'z' has bad lanes");
  EXPECT_EQ(ErrorOf("load_matrix u[0] = o[0] mma v[0] += u[0] * e[0] part=1"), "accepted");
  EXPECT_EQ(ErrorOf("load_matrix transposed u[0] = o[0]"),
            "kernel 'k': load_matrix of 'o' to 'u' transposes elements that are not of 2 bytes");
  EXPECT_EQ(ErrorOf("load_matrix e[0] = o[0]"),
            "kernel 'k': load_matrix of 'o' to 'e' is not of a 2-byte type, f32, u8 or i8");
  EXPECT_EQ(ErrorOf("mma z[0] += u[0] * e[0]"),
            "kernel 'k': mma of 'u' and 'e' into 'z' does not sum in f32x4, or in i32x4 of bytes");
  EXPECT_EQ(ErrorOf("mma v[0] += e[0] * e[0]"),
            "kernel 'k': mma of 'e' and 'e' into 'v' does not sum in f32x4, or in i32x4 of bytes");
  EXPECT_EQ(ErrorOf("for i in 0 .. 2 { mma z[i] += x[0] * y[0] }"),
            "kernel 'k': register 'z' has an index that is not constant");
}

TEST(GpuVerify, CountersAndShuffles) {
  EXPECT_EQ(ErrorOf("arrive last = s[0] of 2"), "kernel 'k': 's' is no counter");
  EXPECT_EQ(ErrorOf("arrive last = n[0] of 0"), "kernel 'k': an arrival at 'n' of less than one");
  EXPECT_EQ(ErrorOf("n[0] = i32(1)"), "kernel 'k': counter 'n' is touched by other than arrive");
  EXPECT_EQ(ErrorOf("c[t] = cast(f32, n[0])"),
            "kernel 'k': counter 'n' is touched by other than arrive");
  EXPECT_EQ(ErrorOf("prefetch n[0, level=1]"),
            "kernel 'k': prefetch of 'n' is not from memory to level 1 or 2");
  EXPECT_EQ(ErrorOf("m[t] = shuffle_xor(m[t], 1)"),
            "kernel 'k': a shuffle of other than f32 or i32");
  EXPECT_EQ(ErrorOf("c[t] = shuffle_xor(c[t], 0)"), "kernel 'k': a shuffle by other than 1 to 31");
  EXPECT_EQ(ErrorOf("c[t] = shuffle_xor(c[t], 32)"), "kernel 'k': a shuffle by other than 1 to 31");
}

}  // namespace
}  // namespace mlc::ir
