// Copies to several blocks of a cluster and arrivals at barriers of others: their text, the
// verifier's rules, and the interpreter, which lets blocks that wait for each other take turns.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/unit/ir/async_products.h"
#include "tests/unit/ir/gpu_run.h"

namespace mlc::ir {
namespace {

// Two blocks of 64 rows, each of which brings half of the columns to both.
AsyncProduct Pair() {
  return {.name = "k", .blocks = 2, .rows = 120, .depth = 520, .pitch = 520, .cluster = 2};
}

std::string With(const std::string& from, const std::string& to) {
  std::string text = Pair().Text();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << text;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

Status Interpreted(const std::string& text) {
  const AsyncProduct product = Pair();
  Param a(product.dtype, product.Rows()), b(product.dtype, product.Columns());
  Param c(DType::kF32, product.Results().size());
  return RunText(text, {a.bytes(), b.bytes(), c.bytes()});
}

constexpr const char* kArrival =
    "if less(mod(t, 32), 2) { mbarrier_arrive empty[s] of mod(t, 32) }";

TEST(AsyncCluster, WhatCouldFailUnderSomeTimingFails) {
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"", ""}, ""},
      // Blocks must have begun their barriers, and must not leave while others use them.
      {{"cluster_barrier\nlet rank", "let rank"}, "no mbarrier_init has begun"},
      {{"warp_barrier\ncluster_barrier\n", ""}, "after the last cluster_barrier"},
      // A stage is free once the products of both blocks have ended.
      {{kArrival, "if equal(mod(t, 32), 0) { mbarrier_arrive empty[s] of mod(p, 2) }"},
       "is never completed"},
      {{kArrival, "if less(mod(t, 32), 2) { mbarrier_arrive empty[s] of mod(p, 2) }"},
       "may still be under way or read"},
      {{kArrival, "if less(mod(t, 32), 2) { mbarrier_arrive empty[s] of add(p, mod(t, 32)) }"},
       "of rank 2 in a cluster of 2"},
      {{"wait_products 0\n", ""}, "under way"},
      // Each block waits for the parts of both.
      {{" ranks 3", " ranks 1"}, ""},
      {{" ranks 3", " ranks add(mod(p, 2), 1)"}, "is never completed"},
      {{" ranks 3", " ranks 7"}, "of rank 2 in a cluster of 2"},
      {{"mbarrier_wait full[s]", "mbarrier_wait full[0]"}, "has not waited for"},
      {{"for k in 0 .. 9 {", "for k in 0 .. 8 {"}, "with copies to shared memory under way"},
  };
  for (const auto& [change, message] : cases) {
    const Status status = Interpreted(With(change.first, change.second));
    if (*message == '\0' && change.first == std::string("")) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      continue;
    }
    EXPECT_FALSE(status.ok()) << change.first << " -> " << change.second;
    EXPECT_NE(status.ToString().find(message), std::string::npos)
        << change.first << " -> " << change.second << ": " << status.ToString();
  }
}

// What the roles of one block wrote is no race for it, though another block ran in between, and
// other blocks see it after a barrier of the cluster alone.
TEST(AsyncCluster, TurnsOfBlocksOrderNothing) {
  const auto run = [](const std::string& then) {
    Param y(DType::kF32, 4);
    return RunText(
        "kernel k {\nout y: f32[4]\nshared s: f32[4]\nmbarrier m: i64[1]\n"
        "parallel for b in 0 .. 2 {\nthreads for t in 0 .. 160 cluster 2 {\n"
        "mbarrier_init m[0] of 1\ncluster_barrier\n"
        "roles if less(t, 128) {\nlet u = t\n} else {\nif equal(t, 128) {\n"
        "s[b] = f32(3.0)\nmbarrier_arrive m[0] of sub(1, b)\nmbarrier_wait m[0] parity 0\n" +
            then +
            "}\n}\ncluster_barrier\nif equal(t, 0) { y[add(2, b)] = s[sub(1, b)] }\n}\n}\n}\n",
        {y.bytes()});
  };
  EXPECT_TRUE(run("y[b] = s[b]\n").ok()) << run("y[b] = s[b]\n").ToString();
  const Status other = run("y[b] = s[sub(1, b)]\n");
  EXPECT_NE(other.ToString().find("race with another block"), std::string::npos)
      << other.ToString();
  const Status write = run("s[sub(1, b)] = f32(4.0)\n");
  EXPECT_NE(write.ToString().find("race with another block"), std::string::npos)
      << write.ToString();
}

TEST(AsyncCluster, TextReadsBack) {
  const Result<Kernel> kernel = Kernel::Parse(Pair().Text());
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  const std::string text = kernel->ToText();
  const Result<Kernel> again = Kernel::Parse(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString() << text;
  EXPECT_EQ(again->ToText(), text);
  EXPECT_NE(text.find("mbarrier_arrive empty[s] of mod(t, 32)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("signals full[q] ranks 3\n"), std::string::npos) << text;
}

TEST(AsyncCluster, VerifierNamesWhatIsWrong) {
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"mbarrier_arrive full[q] bytes", "mbarrier_arrive full[q] of 1 bytes"},
       "announces bytes to another block"},
      {{" ranks 3", " ranks full[0]"}, "'full' is touched by a load"},
      {{"of mod(t, 32) }", "of empty[0] }"}, "'empty' is touched by a load"},
  };
  for (const auto& [change, message] : cases) {
    const Status status = Kernel::Parse(With(change.first, change.second)).status();
    EXPECT_NE(status.ToString().find(message), std::string::npos)
        << change.first << ": " << status.ToString();
  }
  AsyncProduct alone = Pair();
  alone.cluster = 1;
  std::string text = alone.Text();
  const std::string copy = "signals full[q]\n";
  text.insert(text.rfind(copy) + copy.size() - 1, " ranks 1");
  const Status status = Kernel::Parse(text).status();
  EXPECT_NE(status.ToString().find("several blocks in a phase without clusters"), std::string::npos)
      << status.ToString();
}

}  // namespace
}  // namespace mlc::ir
