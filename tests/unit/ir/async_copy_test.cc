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
  Param a(product.dtype, product.Rows()), b(product.dtype, product.Columns());
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
