// Clusters in the kernel IR: their text, the verifier's rules, and the interpreter that runs the
// blocks of one in turn between cluster barriers.
#include <gtest/gtest.h>

#include <string>

#include "compiler/ir/build.h"
#include "tests/unit/ir/gpu_run.h"

namespace mlc::ir {
namespace {

struct Outcome {
  Status status;
  std::vector<double> c;
};

// One launch of `blocks` blocks of 32 threads in clusters of 4 over c (f32[256]).
Outcome RunBody(const std::string& body, int blocks = 4, const std::string& head = "cluster 4") {
  Param c(DType::kF32, 256);
  Outcome outcome;
  outcome.status = RunText(
      "kernel k { out c: f32[256] shared s: f32[256] counter n: i32[1]\n"
      "block m: f32[64] block o: f32[64] overlays m reg r: f32x2[4] thread h: f32[1]\n"
      "parallel for b in 0 .. " +
          std::to_string(blocks) + " { threads for t in 0 .. 32 " + head + " {\n" + body +
          "\n} }\n}",
      {c.bytes()});
  for (size_t i = 0; i < 256; ++i) outcome.c.push_back(c[i]);
  return outcome;
}

std::string ErrorOf(const std::string& body, int blocks = 4,
                    const std::string& head = "cluster 4") {
  return RunBody(body, blocks, head).status.message();
}

constexpr char kFill[] = "m[mul(t, 2)] = cast(f32, b) m[add(mul(t, 2), 1)] = cast(f32, t)\n";

TEST(GpuCluster, BlocksReadEachOthersMemory) {
  const Outcome out =
      RunBody(std::string(kFill) +
                  "let next = mod(add(b, 1), 4) h[0] = cast(f32, mul(b, 1000)) cluster_barrier\n"
                  "load_peer r[1] = m[mul(t, 2)] of next cluster_barrier\n"
                  "c[add(mul(b, 32), t)] = add(h[0], reduce_add(r[1]))",
              8);
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  for (int b = 0; b < 8; ++b) {
    for (int t = 0; t < 32; ++t) {
      const int peer = b / 4 * 4 + (b + 1) % 4;
      EXPECT_EQ(out.c[static_cast<size_t>(32 * b + t)], 1000 * b + peer + t) << b << " " << t;
    }
  }
}

TEST(GpuCluster, ABarrierOfTheClusterIsOneOfTheThreads) {
  const Outcome out =
      RunBody(std::string(kFill) + "cluster_barrier c[add(mul(b, 32), t)] = m[sub(63, mul(t, 2))]");
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  EXPECT_EQ(out.c[0], 31);
}

TEST(GpuCluster, GlobalMemoryOfTheClusterIsSeenAfterABarrier) {
  const Outcome out = RunBody(
      "s[add(mul(b, 32), t)] = cast(f32, b) cluster_barrier\n"
      "c[add(mul(b, 32), t)] = s[add(mul(sub(3, b), 32), t)]");
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  EXPECT_EQ(out.c[0], 3);
  EXPECT_EQ(
      ErrorOf("s[add(mul(b, 32), t)] = cast(f32, b) cluster_barrier\n"
              "c[add(mul(b, 32), t)] = s[add(mul(sub(7, b), 32), t)]",
              8),
      "kernel 'k' reads 's[224]', which was never written, in thread 0 of block 0 of launch 0");
}

TEST(GpuCluster, WhatNoBarrierOrdersIsARace) {
  const std::string load = "load_peer r[0] = m[mul(t, 2)] of mod(add(b, 1), 4)\n";
  const std::string end = "cluster_barrier";
  // The neighbour has not begun, or not come so far.
  EXPECT_EQ(ErrorOf(kFill + load + end),
            "kernel 'k' reads of a peer 'm[0]', which was never written, in thread 0 of block 0 of "
            "launch 0");
  EXPECT_EQ(
      ErrorOf(kFill + ("load_peer r[0] = m[mul(t, 2)] of mul(div(b, 2), 2)\n" + end)),
      "kernel 'k' reads of a peer 'm[0]' in a race with another block, in thread 0 of block 1 "
      "of launch 0");
  // A read of a block that ran before, and one of a block that runs after.
  const std::string overwrite = "m[mul(t, 2)] = f32(1)\n";
  const std::string read_low = "if less(0, b) { load_peer r[0] = m[mul(t, 2)] of 0 }\n";
  const std::string read_high = "if less(b, 3) { load_peer r[0] = m[mul(t, 2)] of 3 }\n";
  EXPECT_EQ(
      ErrorOf(kFill + ("cluster_barrier if equal(b, 0) { " + overwrite + "}\n") + read_low + end),
      "kernel 'k' reads of a peer 'm[0]' in a race with another block, in thread 0 of block 1 "
      "of launch 0");
  EXPECT_EQ(
      ErrorOf(kFill + ("cluster_barrier " + read_high) + "if equal(b, 3) { " + overwrite + "}\n" +
              end),
      "kernel 'k' writes 'm[0]' in a race with another block, in thread 0 of block 3 of launch "
      "0");
  // A read of its own before the write does not hide the neighbour's.
  EXPECT_EQ(
      ErrorOf(kFill + ("cluster_barrier " + read_high) +
              "if equal(b, 3) { h[0] = m[mul(t, 2)] }\nbarrier if equal(b, 3) { " + overwrite +
              "}\n" + end),
      "kernel 'k' writes 'm[0]' in a race with another block, in thread 0 of block 3 of launch "
      "0");
  EXPECT_EQ(
      ErrorOf(kFill + ("cluster_barrier " + read_high) +
              "barrier if equal(b, 3) { o[t] = " + "f32(1) }\n" + end),
      "kernel 'k' writes 'o[0]' in a race with another block, in thread 0 of block 3 of launch "
      "0");
  EXPECT_EQ(
      ErrorOf(kFill + ("cluster_barrier " + read_high) + "cluster_barrier o[t] = f32(1)\n" + end),
      "");
}

TEST(GpuCluster, NoBlockLeavesWhileAnotherReadsIt) {
  EXPECT_EQ(ErrorOf(std::string(kFill) + "cluster_barrier load_peer r[0] = m[0] of 2"),
            "kernel 'k' reads 'm' of another block after the last cluster_barrier, in thread 0 of "
            "block 0 of launch 0");
  EXPECT_EQ(ErrorOf(std::string(kFill) + "cluster_barrier load_peer r[0] = m[0] of b"), "");
}

TEST(GpuCluster, RanksStayInTheCluster) {
  EXPECT_EQ(ErrorOf(std::string(kFill) + "cluster_barrier load_peer r[0] = m[0] of b " +
                        "cluster_barrier",
                    8),
            "kernel 'k' reads 'm' of rank 4 in a cluster of 4, in thread 0 of block 4 of launch 0");
}

TEST(GpuCluster, ArrivalsOrderClusters) {
  const Outcome out = RunBody(
      "s[add(mul(b, 32), t)] = cast(f32, b) cluster_barrier\n"
      "arrive last = n[0] of 8 if equal(last, 1) { c[t] = add(s[t], s[add(t, 224)]) }\n"
      "cluster_barrier",
      8);
  ASSERT_TRUE(out.status.ok()) << out.status.ToString();
  EXPECT_EQ(out.c[0], 7);
}

TEST(GpuCluster, InputsAreAwaitedByEachBlock) {
  EXPECT_EQ(ErrorOf("cluster_barrier await_inputs c[add(mul(b, 32), t)] = f32(1)"), "");
  EXPECT_EQ(ErrorOf("if less(b, 2) { await_inputs } cluster_barrier "
                    "c[add(mul(b, 32), t)] = f32(1)"),
            "kernel 'k' writes 'c[64]' before await_inputs, in thread 0 of block 2 of launch 0");
}

TEST(GpuCluster, Verifier) {
  EXPECT_EQ(ErrorOf("cluster_barrier", 4, ""),
            "kernel 'k': a cluster_barrier in a phase without clusters");
  EXPECT_EQ(ErrorOf("load_peer r[0] = m[0] of 0", 4, ""),
            "kernel 'k': load_peer of 'm' to 'r' in a phase without clusters");
  EXPECT_EQ(ErrorOf("if less(t, 40) { cluster_barrier }"),
            "kernel 'k': a cluster_barrier inside a loop or branch");
  EXPECT_EQ(ErrorOf("for i in 0 .. 2 { cluster_barrier }"),
            "kernel 'k': a cluster_barrier inside a loop or branch");
  EXPECT_EQ(ErrorOf("load_peer r[0] = c[0] of 0"),
            "kernel 'k': load_peer of 'c' to 'r' is not from shared memory");
  EXPECT_EQ(ErrorOf("load_peer h[0] = m[0] of 0"), "kernel 'k': 'h' is no register");
  for (const char* head : {"cluster 3", "cluster 0", "cluster 9", "cluster 16"}) {
    EXPECT_EQ(
        ErrorOf("", 16, head),
        "kernel 'k': threads loop 't' has a cluster that is not 1 to 8 blocks and a divisor of "
        "the grid");
  }
  EXPECT_EQ(RunText("kernel k { out c: f32[4] parallel for b in 0 .. 2 cluster 2 {"
                    " threads for t in 0 .. 32 { } } }",
                    {})
                .message(),
            "kernel 'k': loop 'b' has a cluster, but no threads");
}

TEST(GpuCluster, TextReadsBack) {
  KernelBuilder b("built");
  const BufferId out = b.Out("c", DType::kF32, 256);
  const BufferId tile = b.SharedMemory("tile", DType::kF32, 128);
  const BufferId peers = b.Registers("peers", DType::kF32, 4, 2);
  b.Launch(
      8, 32, 2,
      [&](const ExprRef& block, const ExprRef& thread) {
        b.Store(tile, thread * 4, Float(DType::kF32, 1, 4));
        b.ClusterBarrier();
        b.LoadPeer(peers, Int(1), tile, thread * 4, Mod(block, 2));
        b.ClusterBarrier();
        b.Store(out, block * 32 + thread, MakeReduce(ScalarOp::kAdd, b.Get(peers, Int(1))));
      },
      2);
  const Kernel kernel = b.Finish();
  EXPECT_TRUE(kernel.Verify().ok()) << kernel.Verify().ToString();
  const std::string text = kernel.ToText();
  EXPECT_NE(text.find("per_sm 2 cluster 2 {"), std::string::npos) << text;
  EXPECT_NE(text.find("load_peer peers[1] = tile[mul(thread_index, 4)] of mod(block_index, 2)"),
            std::string::npos)
      << text;
  const Result<Kernel> read = Kernel::Parse(text);
  ASSERT_TRUE(read.ok()) << read.status().ToString() << text;
  EXPECT_EQ(read->ToText(), text);
}

}  // namespace
}  // namespace mlc::ir
