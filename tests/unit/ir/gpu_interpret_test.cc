// The lockstep interpreter of GPU kernels: what it computes and each error that it finds.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/ir/gpu_run.h"

namespace mlc::ir {
namespace {

struct Outcome {
  Status status;
  std::vector<double> c;
};

// One launch of `blocks` blocks of 64 threads over a (f32[256], counting) and c (f32[256]).
Outcome RunBody(const std::string& body, int blocks = 1, const std::string& more = "") {
  Param a(DType::kF32, Counting(256)), c(DType::kF32, 256);
  Outcome outcome;
  outcome.status = RunText(
      "kernel k { in a: f32[256] out c: f32[256] shared s: f32[1024] counter n: i32[2]\n"
      "block m: f32[256] block o: f32[256] overlays m block q: f32[64] thread h: f32[4]\n"
      "reg r: f32x2[2]\n"
      "parallel for b in 0 .. " +
          std::to_string(blocks) + " { threads for t in 0 .. 64 {\n" + body + "\n} }\n" + more +
          "}",
      {a.bytes(), c.bytes()});
  for (size_t i = 0; i < 256; ++i) outcome.c.push_back(c[i]);
  return outcome;
}

// "" when all is well.
std::string ErrorOf(const std::string& body, int blocks = 1, const std::string& more = "") {
  return RunBody(body, blocks, more).status.message();
}

StatusCode CodeOf(const std::string& body, int blocks = 1) {
  return RunBody(body, blocks).status.code();
}

TEST(GpuInterpret, BranchesAndLoopsByThread) {
  const Outcome out = RunBody(
      "h[0] = f32(0)\n"
      "for i in mod(t, 4) .. t step 3 { h[0] = add(h[0], cast(f32, i)) }\n"
      "if less(t, 10) { c[t] = h[0] } else { if less(t, 20) { c[t] = f32(-1) } }\n"
      "if less(19, t) { for x in 0 .. 2 { let j = add(mul(x, 64), t) c[j] = neg(a[j]) } }\n");
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  for (int t = 0; t < 10; ++t) {
    double sum = 0;
    for (int i = t % 4; i < t; i += 3) sum += i;
    EXPECT_EQ(out.c[static_cast<size_t>(t)], sum);
  }
  EXPECT_EQ(out.c[10], -1);
  EXPECT_EQ(out.c[19], -1);
  EXPECT_EQ(out.c[20], -20);
  EXPECT_EQ(out.c[64 + 63], -127);
}

TEST(GpuInterpret, VectorsMasksAndRegisters) {
  const Outcome out = RunBody(
      "r[1] = a[mul(t, 2), lanes=2, mask=sub(64, t)]\n"
      "r[0] = select(lane_mask(1, 2), r[1], cast(f32, lane_index(i32, 2)))\n"
      "c[t, stride=64] = add(r[0], broadcast(f32(1000), 2))\n"
      "if less(t, 2) { c[add(128, mul(t, 4)), mask=3] = broadcast(reduce_add(r[1]), 4) }\n"
      "if equal(t, 5) { c[255] = cast(f32, div(-7, 2)) }\n");
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  EXPECT_EQ(out.c[3], 1006);
  EXPECT_EQ(out.c[64 + 3], 1001);
  EXPECT_EQ(out.c[130], 1);
  EXPECT_EQ(out.c[131], -77);
  EXPECT_EQ(out.c[132], 5);
  EXPECT_EQ(out.c[255], -4);
}

TEST(GpuInterpret, ShufflesWithinAWarp) {
  const Outcome out = RunBody(
      "h[0] = a[t]\n"
      "for i in 0 .. 5 { h[0] = h[0] }\n"
      "h[0] = add(h[0], shuffle_xor(h[0], 16)) h[0] = add(h[0], shuffle_xor(h[0], 8))\n"
      "h[0] = add(h[0], shuffle_xor(h[0], 4)) h[0] = add(h[0], shuffle_xor(h[0], 2))\n"
      "h[0] = add(h[0], shuffle_xor(h[0], 1)) c[t] = h[0]\n"
      "if less(31, t) { c[add(t, 64)] = shuffle_xor(a[t], 31) }");
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  EXPECT_EQ(out.c[0], 496);
  EXPECT_EQ(out.c[31], 496);
  EXPECT_EQ(out.c[63], 496 + 1024);
  EXPECT_EQ(out.c[64 + 33], 62);
  EXPECT_EQ(ErrorOf("if less(t, 48) { c[t] = shuffle_xor(a[t], 1) }"),
            "kernel 'k' reaches shuffle_xor with 16 of the 32 threads of warp 1, in thread 32 of "
            "block 0 of launch 0");
}

TEST(GpuInterpret, BoundsAndMissingWrites) {
  EXPECT_EQ(ErrorOf("c[mul(t, 5)] = f32(0)"),
            "kernel 'k' writes 'c[260]' outside its 256 elements, in thread 52 of block 0 of "
            "launch 0");
  EXPECT_EQ(CodeOf("c[mul(t, 5)] = f32(0)"), StatusCode::kOutOfRange);
  EXPECT_EQ(ErrorOf("c[t] = h[4]"),
            "kernel 'k' reads 'h[4]' outside its 4 elements, in thread 0 of block 0 of launch 0");
  EXPECT_EQ(ErrorOf("if equal(t, 3) { h[1] = f32(0) } c[t] = h[1]"),
            "kernel 'k' reads 'h[1]', which was never written, in thread 0 of block 0 of launch "
            "0");
  EXPECT_EQ(CodeOf("c[t] = h[1]"), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrorOf("c[t] = q[t]"),
            "kernel 'k' reads 'q[0]', which was never written, in thread 0 of block 0 of launch "
            "0");
  // Neither shared memory nor registers outlive a block.
  EXPECT_EQ(ErrorOf("if equal(b, 0) { q[t] = a[t] } c[add(t, mul(b, 64))] = q[t]", 2),
            "kernel 'k' reads 'q[0]', which was never written, in thread 0 of block 1 of launch "
            "0");
  EXPECT_EQ(ErrorOf("if equal(b, 0) { r[0] = a[t, lanes=2] } c[mul(t, 2)] = r[0]", 2),
            "kernel 'k' reads 'r[0]', which was never written, in thread 0 of block 1 of launch "
            "0");
  EXPECT_EQ(ErrorOf("c[t] = div(cast(i64, a[t]), 0)"), "kernel 'k': store of i64 to 'c'");
  EXPECT_EQ(ErrorOf("c[t] = cast(f32, mod(4, t))"),
            "kernel 'k' divides by zero, in thread 0 of block 0 of launch 0");
  EXPECT_EQ(ErrorOf("c[add(t, 1)] = a[t, lanes=2] streaming"),
            "kernel 'k' streams a vector to 'c[1]', which is not aligned to it, in thread 0 of "
            "block 0 of launch 0");
}

TEST(GpuInterpret, BarriersOrderThreads) {
  EXPECT_EQ(ErrorOf("q[t] = a[t] barrier c[t] = q[sub(63, t)] barrier q[sub(63, t)] = a[t]"), "");
  EXPECT_EQ(ErrorOf("q[t] = a[t] c[t] = q[sub(63, t)]"),
            "kernel 'k' reads 'q[63]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(CodeOf("q[t] = a[t] c[t] = q[sub(63, t)]"), StatusCode::kAborted);
  EXPECT_EQ(ErrorOf("q[t] = a[t] barrier c[t] = q[sub(63, t)] q[t] = a[t]"),
            "kernel 'k' writes 'q[0]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("q[0] = a[t]"),
            "kernel 'k' writes 'q[0]' in a race with another thread, in thread 1 of block 0 of "
            "launch 0");
  // Many readers, of which the writer is one.
  EXPECT_EQ(ErrorOf("q[t] = a[t] barrier c[t] = q[0] if equal(t, 0) { q[0] = a[t] }"),
            "kernel 'k' writes 'q[0]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("s[t] = a[t] barrier c[t] = s[sub(63, t)]"), "");
  EXPECT_EQ(ErrorOf("s[t] = a[t] c[t] = s[sub(63, t)]"),
            "kernel 'k' reads 's[63]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("if less(t, 63) { barrier }"),
            "kernel 'k' reaches a barrier with 63 of the 64 threads of the block, in thread 0 of "
            "block 0 of launch 0");
  EXPECT_EQ(CodeOf("if less(t, 63) { barrier }"), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrorOf("for i in 0 .. t { barrier }"),
            "kernel 'k' reaches a barrier with 63 of the 64 threads of the block, in thread 1 of "
            "block 0 of launch 0");
}

TEST(GpuInterpret, WarpBarriersOrderOneWarp) {
  const std::string write = "q[t] = a[t] warp_barrier ";
  EXPECT_EQ(ErrorOf(write + "c[t] = q[add(mul(div(t, 32), 32), sub(31, mod(t, 32)))]"), "");
  EXPECT_EQ(ErrorOf(write + "c[t] = q[sub(63, t)]"),
            "kernel 'k' reads 'q[63]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("q[t] = a[t] c[t] = q[add(mul(div(t, 32), 32), sub(31, mod(t, 32)))]"),
            "kernel 'k' reads 'q[31]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  // Reads of a warp, its barrier, then a read and a write of one thread.
  EXPECT_EQ(ErrorOf("q[t] = a[t] barrier if less(t, 32) { c[t] = q[0] warp_barrier\n"
                    "if equal(t, 7) { h[0] = q[0] q[0] = f32(1) } }"),
            "");
  EXPECT_EQ(ErrorOf("q[t] = a[t] barrier if less(t, 32) { c[t] = q[0] warp_barrier } else {\n"
                    "if equal(t, 40) { q[0] = f32(1) } }"),
            "kernel 'k' writes 'q[0]' in a race with another thread, in thread 40 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("if less(t, 16) { warp_barrier }"),
            "kernel 'k' reaches a warp_barrier with 16 of the 32 threads of warp 0, in thread 0 "
            "of block 0 of launch 0");
  EXPECT_EQ(ErrorOf("if less(t, 32) { warp_barrier }"), "");
}

TEST(GpuInterpret, OverlaysTakeTheMemoryOver) {
  const std::string use = "m[t] = a[t] barrier c[t] = m[sub(63, t)] ";
  EXPECT_EQ(ErrorOf(use + "barrier o[t] = c[t] barrier c[t] = o[sub(63, t)]"), "");
  EXPECT_EQ(ErrorOf(use + "o[t] = f32(0)"),
            "kernel 'k' writes 'o[0]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf(use + "barrier if equal(t, 5) { o[9] = f32(0) } barrier c[t] = m[t]"),
            "kernel 'k' reads 'm[0]', whose memory another buffer has taken over, in thread 0 of "
            "block 0 of launch 0");
  EXPECT_EQ(ErrorOf(use + "barrier o[t] = f32(0) barrier m[add(t, 1)] = f32(0) barrier\n"
                          "c[t] = m[t]"),
            "kernel 'k' reads 'm[0]', whose memory another buffer has taken over, in thread 0 of "
            "block 0 of launch 0");
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[t, lanes=1] barrier o[t] = f32(0)"),
            "kernel 'k' writes 'o[0]' while a copy is under way there, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf(use, 4),
            "kernel 'k' writes 'c[0]' in a race with another block, in thread 0 "
            "of block 1 of launch 0");
}

TEST(GpuInterpret, CopiesLandWhenTheirThreadWaits) {
  const Outcome out = RunBody(
      "copy_async m[t] = a[t, lanes=1] commit_copies\n"
      "copy_async m[add(t, 64)] = a[add(t, 64), lanes=1] commit_copies\n"
      "copy_async q[t] = a[t, lanes=1, mask=sub(32, t)] commit_copies\n"
      "wait_copies 2 c[t] = m[t]\n"
      "wait_copies 1 barrier c[add(t, 64)] = m[sub(127, t)]\n"
      "wait_copies 0 c[add(t, 128)] = q[t]\n");
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  EXPECT_EQ(out.c[5], 5);
  EXPECT_EQ(out.c[64 + 5], 122);
  EXPECT_EQ(out.c[128 + 5], 5);
  EXPECT_EQ(out.c[128 + 40], 0);
}

TEST(GpuInterpret, CopiesThatAreNotThereYet) {
  const std::string pending =
      "kernel 'k' reads 'm[0]' while a copy is under way there, in thread 0 of block 0 of launch "
      "0";
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[t, lanes=1] c[t] = m[t]"), pending);
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[t, lanes=1] wait_copies 0 c[t] = m[t]"), pending);
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[t, lanes=1] commit_copies wait_copies 1 c[t] = m[t]"),
            pending);
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[t, lanes=1] commit_copies barrier c[t] = m[t]"), pending);
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[t, lanes=1] commit_copies barrier wait_copies 0\n"
                    "c[t] = m[sub(63, t)]"),
            "kernel 'k' reads 'm[63]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("m[t] = a[t] barrier c[t] = m[sub(63, t)]\n"
                    "copy_async m[t] = a[t, lanes=1]"),
            "kernel 'k' copies to 'm[0]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[t, lanes=1] m[t] = f32(0)"),
            "kernel 'k' writes 'm[0]' while a copy is under way there, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("copy_async m[t] = a[mul(t, 4), lanes=4]"),
            "kernel 'k' copies 4 elements at 'm[1]', which is not aligned to them, in thread 1 of "
            "block 0 of launch 0");
  EXPECT_EQ(ErrorOf("copy_async m[mul(t, 4)] = a[t, lanes=4]"),
            "kernel 'k' copies 4 elements at 'a[1]', which is not aligned to them, in thread 1 of "
            "block 0 of launch 0");
  EXPECT_EQ(ErrorOf("copy_async m[mul(t, 4)] = a[mul(add(t, 1), 4), lanes=4]"),
            "kernel 'k' copies 'a[256]' outside its 256 elements, in thread 63 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("copy_async m[mul(t, 4)] = a[mul(add(t, 1), 4), lanes=4, mask=sub(63, t)]"),
            "");
  // What a block leaves under way does not reach the next.
  EXPECT_EQ(ErrorOf("if equal(b, 0) { copy_async m[t] = a[t, lanes=1] } else { m[t] = a[t] }", 2),
            "");
}

TEST(GpuInterpret, APipelineOfStages) {
  // Three stages of 64 over 4 steps; `barrier` orders the reads of a stage before it is refilled.
  const auto pipeline = [](const std::string& barrier) {
    return "h[0] = f32(0)\n"
           "for first in 0 .. 2 {\n"
           "copy_async m[add(mul(first, 64), t)] = a[add(mul(first, 64), t), lanes=1] "
           "commit_copies }\n"
           "for i in 0 .. 4 {\n"
           "wait_copies 1 " +
           barrier +
           "\n"
           "let next = add(i, 2)\n"
           "if less(next, 4) {\n"
           "copy_async m[add(mul(mod(next, 3), 64), t)] = a[add(mul(next, 64), t), lanes=1] }\n"
           "commit_copies\n"
           "h[0] = add(h[0], m[add(mul(mod(i, 3), 64), sub(63, t))])\n"
           "}\n"
           "c[t] = h[0]\n";
  };
  const Outcome out = RunBody(pipeline("barrier"));
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  for (size_t t = 0; t < 64; ++t) EXPECT_EQ(out.c[t], 4 * (63.0 - static_cast<double>(t)) + 384);
  EXPECT_EQ(ErrorOf(pipeline("warp_barrier")),
            "kernel 'k' reads 'm[63]' in a race with another thread, in thread 0 of block 0 of "
            "launch 0");
}

TEST(GpuInterpret, BlocksOfALaunchDoNotShare) {
  EXPECT_EQ(ErrorOf("c[add(mul(b, 64), t)] = a[t]", 4), "");
  EXPECT_EQ(ErrorOf("c[t] = a[t]", 2),
            "kernel 'k' writes 'c[0]' in a race with another block, in thread 0 of block 1 of "
            "launch 0");
  EXPECT_EQ(CodeOf("c[t] = a[t]", 2), StatusCode::kAborted);
  EXPECT_EQ(ErrorOf("if equal(b, 0) { s[t] = a[t] } barrier c[add(mul(b, 64), t)] = s[t]", 2),
            "kernel 'k' reads 's[0]' in a race with another block, in thread 0 of block 1 of "
            "launch 0");
  // The next launch sees all, and may not write what an earlier block of its own has read.
  const std::string next = "parallel for e in 0 .. 2 { threads for u in 0 .. 64 {\n";
  EXPECT_EQ(ErrorOf("s[add(mul(b, 64), t)] = a[t]", 2,
                    next + "c[add(mul(e, 64), u)] = s[sub(127, u)] } }"),
            "");
  EXPECT_EQ(ErrorOf("s[add(mul(b, 64), t)] = a[t]", 2,
                    next + "if equal(e, 0) { c[u] = s[u] } else { s[u] = f32(0) } } }"),
            "kernel 'k' writes 's[0]' in a race with another block, in thread 0 of block 1 of "
            "launch 1");
  EXPECT_EQ(ErrorOf("s[add(mul(b, 64), t)] = a[t]", 2,
                    next + "c[add(mul(e, 64), u)] = s[u] barrier\n"
                           "if equal(e, 1) { s[u] = f32(0) } } }"),
            "kernel 'k' writes 's[0]' in a race with another block, in thread 0 of block 1 of "
            "launch 1");
}

// Four blocks write partial sums; the last to arrive adds them.
std::string SplitK(const std::string& arrive) {
  return "s[add(mul(b, 64), t)] = add(a[t], cast(f32, b))\n"
         "barrier\n" +
         arrive +
         "if equal(last, 1) {\n"
         "h[0] = f32(0)\n"
         "for i in 0 .. 4 { h[0] = add(h[0], s[add(mul(i, 64), sub(63, t))]) }\n"
         "c[t] = h[0]\n"
         "barrier s[t] = f32(0)\n"
         "}\n";
}

TEST(GpuInterpret, TheLastArrivalSeesTheOthersWork) {
  const Outcome out = RunBody(SplitK("arrive last = n[1] of 4\n"), 4,
                              "parallel for e in 0 .. 4 { threads for u in 0 .. 32 {\n"
                              "arrive done = n[1] of 4 } }");
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  for (size_t t = 0; t < 64; ++t) EXPECT_EQ(out.c[t], 4 * (63.0 - static_cast<double>(t)) + 6);
  // One arrival fewer than the blocks: the last block is not waited for.
  EXPECT_EQ(ErrorOf(SplitK("arrive last = n[1] of 3\n"), 4),
            "kernel 'k' reads 's[255]', which was never written, in thread 0 of block 2 of launch "
            "0");
  EXPECT_EQ(ErrorOf(SplitK("let last = div(add(b, 1), 4)\n"), 4),
            "kernel 'k' reads 's[63]' in a race with another block, in thread 0 of block 3 of "
            "launch 0");
  // Written after the arrival, which does not pass it on.
  EXPECT_EQ(ErrorOf("arrive last = n[0] of 2 s[add(mul(b, 64), t)] = a[t] barrier\n"
                    "if equal(last, 1) { c[t] = s[t] }",
                    2),
            "kernel 'k' reads 's[0]' in a race with another block, in thread 0 of block 1 of "
            "launch 0");
  // Through a second counter, the last of the first counter hands on what it has seen.
  EXPECT_EQ(ErrorOf("s[add(mul(b, 64), t)] = a[t] barrier\n"
                    "if less(b, 2) { arrive first = n[0] of 2\n"
                    "if equal(first, 1) { arrive second = n[1] of 2 } }\n"
                    "if equal(b, 2) { arrive third = n[1] of 2\n"
                    "if equal(third, 1) { c[t] = s[t] } }",
                    3),
            "");
}

TEST(GpuInterpret, CountersEndAtZero) {
  EXPECT_EQ(ErrorOf("arrive last = n[1] of 3", 2),
            "kernel 'k' leaves counter 'n[1]' at 2 after launch 0");
  EXPECT_EQ(ErrorOf("arrive last = n[b] of 1", 2), "");
  EXPECT_EQ(ErrorOf("arrive last = n[b] of 1", 3),
            "kernel 'k' arrives at 'n[2]' outside its 2 elements, in thread 0 of block 2 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("arrive last = n[div(t, 32)] of 1"),
            "kernel 'k' arrives at 'n[0]' and '[1]' with one block, in thread 32 of block 0 of "
            "launch 0");
  EXPECT_EQ(ErrorOf("if less(t, 32) { arrive last = n[0] of 1 }"),
            "kernel 'k' reaches an arrival with 32 of the 64 threads of the block, in thread 0 of "
            "block 0 of launch 0");
}

TEST(GpuInterpret, NothingIsWrittenBeforeItsInputs) {
  EXPECT_EQ(ErrorOf("q[t] = a[t] await_inputs c[t] = q[t] release_dependents"), "");
  EXPECT_EQ(ErrorOf("c[t] = a[t] await_inputs"),
            "kernel 'k' writes 'c[0]' before await_inputs, in thread 0 of block 0 of launch 0");
  EXPECT_EQ(CodeOf("c[t] = a[t] await_inputs"), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrorOf("s[t] = a[t] await_inputs"),
            "kernel 'k' writes 's[0]' before await_inputs, in thread 0 of block 0 of launch 0");
  EXPECT_EQ(ErrorOf("arrive last = n[0] of 1 await_inputs"),
            "kernel 'k' arrives at 'n[0]' before await_inputs, in thread 0 of block 0 of launch "
            "0");
  EXPECT_EQ(ErrorOf("s[t] = a[t]", 1,
                    "parallel for e in 0 .. 1 { threads for u in 0 .. 32 {\n"
                    "h[0] = s[u] await_inputs } }"),
            "kernel 'k' reads 's[0]' before await_inputs, in thread 0 of block 0 of launch 1");
}

}  // namespace
}  // namespace mlc::ir
