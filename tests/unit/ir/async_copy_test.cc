// Roles, mbarriers and copies that arrive at them: their text, the verifier's rules, and the
// interpreter, which finds what could go wrong under any timing.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/ir/async_products.h"
#include "tests/unit/ir/gpu_run.h"

namespace mlc::ir {
namespace {

// Of f16: rows by a tensor copy, columns in bulk, four steps through two stages.
std::string Text() { return AsyncProduct{.name = "k"}.Text(); }

std::string With(const std::string& from, const std::string& to) {
  std::string text = Text();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct Trial {
  Param c;
  Status status;
};

Trial Interpreted(const AsyncProduct& product, const std::string& text) {
  Param a(product.dtype, product.Rows()), b(product.of_columns(), product.Columns());
  Trial run{Param(DType::kF32, product.Results().size()), {}};
  run.status = RunText(text, {a.bytes(), b.bytes(), run.c.bytes()});
  return run;
}
Trial Interpreted(const std::string& text) { return Interpreted({.name = "k"}, text); }

TEST(AsyncCopy, RolesMultiplyWhatCopiesBringAndZerosOutside) {
  for (const AsyncProduct& product : AsyncProducts()) {
    SCOPED_TRACE(product.name);
    const Trial run = Interpreted(product, product.Text());
    ASSERT_TRUE(run.status.ok()) << run.status.ToString() << product.Text();
    const std::vector<double> results = product.Results();
    for (size_t i = 0; i < results.size(); ++i) ASSERT_EQ(run.c[i], results[i]) << i;
  }
}

TEST(AsyncCopy, WhatCouldFailUnderSomeTimingFails) {
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"mbarrier_wait full[s] parity mod(div(k, 2), 2)\n", ""}, "which was never written"},
      {{"mbarrier_wait full[s]", "mbarrier_wait full[0]"}, "has not waited for"},
      {{"mbarrier_wait empty[q] parity mod(add(div(i, 2), 1), 2)\n", ""}, "may still be under way"},
      {{"wait_products 0\n", ""}, "under way"},
      {{"mbarrier_arrive full[q] bytes=10240", "mbarrier_arrive full[q] bytes=10256"},
       "is never completed"},
      {{"mbarrier_arrive full[q] bytes=10240\n", ""}, "is never completed"},
      {{"if equal(mod(t, 32), 0) { mbarrier_arrive empty[s] }", ""}, "is never completed"},
      {{"if equal(mod(t, 32), 0) {", "if less(t, 4) {"}, "may still be under way"},
      {{"make_tensor_maps\n", ""}, "without make_tensor_maps"},
      {{"threads for t in 0 .. 160", "threads for t in 0 .. 192"}, "another warp has made them"},
      {{"await_inputs\nroles if less(t, 128) {\n", "roles if less(t, 128) {\nawait_inputs\n"},
       "before await_inputs"},
      {{"await_inputs\n", ""}, ""},
      {{"mbarrier_init full[1] of 1", ""}, "no mbarrier_init has begun"},
      {{"x[mul(q, 4096)] = a", "x[add(mul(q, 4096), 8)] = a"}, "not aligned to 1024 bytes"},
      {{"y[mul(q, 1024)] = b[mul(add(0, i), 1024)]", "y[mul(q, 1024)] = b[add(mul(i, 1024), 4)]"},
       "not aligned to 16 bytes"},
      {{"roles if less(t, 128) {", "roles if less(t, 128) { barrier"}, "of the 160 threads"},
      {{"} else {\nmake_tensor_maps",
        "} else { if equal(t, 128) { x[0] = f16(0.0) } make_tensor_maps"},
       "which also loads or stores touch"},
      {{"roles if less(t, 128) {", "roles if less(t, 120) {"}, "splits a warp into roles"},
      {{"for k in 0 .. 4 {", "for k in 0 .. 3 {"}, "with copies to shared memory under way"},
  };
  for (const auto& [change, message] : cases) {
    const Trial run = Interpreted(With(change.first, change.second));
    if (*message == '\0') {
      EXPECT_TRUE(run.status.ok()) << change.first << ": " << run.status.ToString();
      continue;
    }
    EXPECT_FALSE(run.status.ok()) << change.first;
    EXPECT_NE(run.status.ToString().find(message), std::string::npos)
        << change.first << ": " << run.status.ToString();
  }
}

// The second warp of an incomplete warpgroup arrives where the first one waits.
TEST(AsyncCopy, WarpsOfAnIncompleteWarpgroupGoTheirOwnWays) {
  const auto text = [](int threads) {
    return "kernel k {\nout y: f32[1]\nmbarrier m: i64[1]\nparallel for b in 0 .. 1 {\n"
           "threads for t in 0 .. " +
           std::to_string(threads) +
           " {\nmbarrier_init m[0] of 1\nroles if less(t, 128) {\nlet u = t\n} else {\n"
           "if less(t, 160) {\nmbarrier_wait m[0] parity 0\nif equal(t, 128) { y[0] = f32(2.0) }\n"
           "} else {\nif equal(t, 160) { mbarrier_arrive m[0] }\n}\n}\n}\n}\n}\n";
  };
  Param y(DType::kF32, 1);
  const Status status = RunText(text(192), {y.bytes()});
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(y[0], 2);
  EXPECT_FALSE(RunText(text(256), {y.bytes()}).ok());  // a whole warpgroup goes one way
}

// What a warp wrote to shared memory before it arrived, and what it read, is ordered for those who
// wait.
TEST(AsyncCopy, MbarriersOrderOtherAccesses) {
  const std::string writes = "s[sub(t, 160)] = f32(3.0)\nwarp_barrier\n";
  const std::string wait = "mbarrier_wait m[0] parity 0\n";
  const auto run = [](const std::string& first, const std::string& second) {
    Param y(DType::kF32, 32);
    const Status status = RunText(
        "kernel k {\nout y: f32[32]\nblock s: f32[32]\nmbarrier m: i64[1]\n"
        "parallel for b in 0 .. 1 {\nthreads for t in 0 .. 192 {\nmbarrier_init m[0] of 1\n"
        "roles if less(t, 128) {\nlet u = t\n} else {\nif less(t, 160) {\n" +
            second + "y[sub(t, 128)] = s[sub(159, t)]\n} else {\n" + first +
            "if equal(t, 160) { mbarrier_arrive m[0] }\n}\n}\n}\n}\n}\n",
        {y.bytes()});
    if (status.ok()) {
      EXPECT_EQ(y[5], 3);
    }
    return status;
  };
  EXPECT_TRUE(run(writes, wait).ok()) << run(writes, wait).ToString();
  const Status unordered = run("s[sub(t, 160)] = f32(3.0)\n", wait);
  EXPECT_NE(unordered.ToString().find("race"), std::string::npos) << unordered.ToString();
  const Status partly = run(writes, "if equal(t, 128) {\n" + wait + "}\n");
  EXPECT_NE(partly.ToString().find("race"), std::string::npos) << partly.ToString();
}

TEST(AsyncCopy, TextReadsBack) {
  const Result<Kernel> kernel = Kernel::Parse(Text());
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString();
  const std::string text = kernel->ToText();
  const Result<Kernel> again = Kernel::Parse(text);
  ASSERT_TRUE(again.ok()) << again.status().ToString() << text;
  EXPECT_EQ(again->ToText(), text);
  for (const char* part :
       {"roles if less(t, 128) {", "mbarrier full: i64[2]", "mbarrier_arrive full[q] bytes=10240",
        "elements=1024 signals full[q]", "of 60 by 200 pitch 208 signals full[q]"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  }
}

TEST(AsyncCopy, BoxesAreReadBackAndVerified) {
  const std::string text = AsyncProduct{.name = "k", .boxes = true}.Text();
  const Result<Kernel> kernel = Kernel::Parse(text);
  ASSERT_TRUE(kernel.ok()) << kernel.status().ToString() << text;
  const Result<Kernel> again = Kernel::Parse(kernel->ToText());
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->ToText(), kernel->ToText());
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"box=2 of 4", "box=200 of 4"}, "1 to 256 rows"},
      {{"box=8 of 5", "box=257 of 5"}, "1 to 256 rows"},
      {{"step=2 over", "step=9 over"}, "steps above 8"},
      {{"box=8 of 5 pitch 832", "box=8 of 5 pitch 200"}, "outside the buffer"},
      {{"box=4 of 3", "box=4 of 4"}, "outside the buffer"},
      {{"step=2 signals",
        "step=2 over 0 box=1 of 1 pitch 12480 over 0 box=1 of 1 pitch 12480 signals"},
       "more than 5 dimensions"},
  };
  for (const auto& [change, message] : cases) {
    std::string wrong = text;
    const size_t at = wrong.find(change.first);
    ASSERT_NE(at, std::string::npos) << change.first;
    wrong.replace(at, std::string(change.first).size(), change.second);
    const Result<Kernel> parsed = Kernel::Parse(wrong);
    ASSERT_FALSE(parsed.ok()) << change.second;
    EXPECT_NE(parsed.status().ToString().find(message), std::string::npos)
        << parsed.status().ToString();
  }
}

TEST(AsyncCopy, VerifierNamesWhatIsWrong) {
  const std::pair<std::pair<const char*, const char*>, const char*> cases[] = {
      {{"mbarrier full: i64[2]", "mbarrier full: i32[2]"}, "another type than i64"},
      {{"mbarrier_init full[0] of 1", "mbarrier_init full[0] of 0"}, "less than one arrival"},
      {{"mbarrier_wait full[s]", "mbarrier_wait x[s]"}, "'x' is no mbarrier"},
      {{"bytes=10240", "bytes=10241"}, "by 16"},
      {{"elements=1024", "elements=1021"}, "by 16"},
      {{"box=64", "box=257"}, "1 to 256 rows"},
      {{"of 60 by 200", "of 61 by 200"}, "outside the buffer"},
      {{"pitch 208", "pitch 204"}, "outside the buffer, or of rows not aligned"},
      {{"x[mul(q, 4096)] = a[mul(p, 64)]", "c[0] = a[0]"}, "not from global to shared memory"},
      {{"for k in 0 .. 4 { let s = mod(k, 2)", "for k in 0 .. 4 { let s = full[0]"}, "mbarrier"},
      {{"if equal(t, 128) {", "roles if equal(t, 128) {"}, "roles inside a loop or branch"},
      {{"threads for t in 0 .. 160 {", "threads for t in 0 .. 160 cluster 1 {"}, ""},
  };
  for (const auto& [change, message] : cases) {
    const Result<Kernel> kernel = Kernel::Parse(With(change.first, change.second));
    EXPECT_EQ(kernel.ok(), *message == '\0') << change.first;
    if (kernel.ok()) continue;
    EXPECT_NE(kernel.status().ToString().find(message), std::string::npos)
        << change.first << ": " << kernel.status().ToString();
  }
}

}  // namespace
}  // namespace mlc::ir
