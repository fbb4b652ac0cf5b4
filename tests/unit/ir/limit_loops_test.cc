#include "compiler/ir/limit_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "compiler/ir/interpret/interpret.h"

namespace mlc::ir {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Rows of 4 elements in two chunks, by tiles of 2 rows; y = x.
constexpr char kTiles[] = R"(kernel k {
  in x: f32[48]
  out y: f32[48]
  parallel for p in 0 .. 2 {
    for t in mul(p, 3) .. add(mul(p, 3), 3) {
      let at = mul(t, 2)
      for r in at .. add(at, 2) {
        y[mul(r, 4)] = x[mul(r, 4), lanes=4]
      }
    }
  }
}
)";

Kernel Parsed(const std::string& text) {
  const Result<Kernel> kernel = Kernel::Parse(text);
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  return kernel.ok() ? *kernel : Kernel();
}

VarId VarOf(const Kernel& kernel, const std::string& name) {
  return static_cast<VarId>(std::ranges::find(kernel.vars, name) - kernel.vars.begin());
}

constexpr int64_t kRowElements[] = {0, 4};

Kernel Limited() {
  const Kernel kernel = Parsed(kTiles);
  const RowLoop loops[] = {{VarOf(kernel, "t"), 2, 0}};
  return LimitLoops(kernel, loops, kRowElements);
}

std::array<float, 48> Interpreted(const Kernel& kernel, int64_t limit) {
  std::array<float, 48> x = {}, y = {};
  x.fill(1);
  y.fill(7);
  const std::span<std::byte> params[] = {std::as_writable_bytes(std::span(x)),
                                         std::as_writable_bytes(std::span(y))};
  const Status status = Interpret(kernel, params, limit);
  EXPECT_TRUE(status.ok()) << status.message();
  return y;
}

TEST(LimitLoops, WritesTheRowsBelowTheLimitAndTheRestOfTheirTile) {
  const Kernel limited = Limited();
  ASSERT_TRUE(limited.Verify().ok()) << limited.ToText();
  for (int64_t limit = 0; limit <= 12; ++limit) {
    const std::array<float, 48> y = Interpreted(limited, limit);
    const auto written = static_cast<size_t>((limit + 1) / 2 * 8);
    EXPECT_THAT(std::span(y).first(written), Each(1.0F)) << limit;
    EXPECT_THAT(std::span(y).subspan(written), Each(7.0F)) << limit;
  }
  EXPECT_THAT(Interpreted(limited, kNoLimit), Each(1.0F));
}

TEST(LimitLoops, TheTextNamesTheLimit) {
  const std::string text = Limited().ToText();
  EXPECT_THAT(text, HasSubstr("kernel k limit rows {"));
  EXPECT_THAT(text, HasSubstr("min(add(mul(p, 3), 3), div(add(rows, 1), 2))"));
  EXPECT_EQ(Parsed(text).ToText(), text);
}

// An announced loop that is over something else than rows stays as it is.
TEST(LimitLoops, LoopsThatAreNotOverTheRowsStay) {
  const Kernel kernel = Parsed(kTiles);
  const RowLoop wrong[] = {{VarOf(kernel, "t"), 3, 0}};
  EXPECT_EQ(LimitLoops(kernel, wrong, kRowElements).ToText(), kTiles);
  const RowLoop right[] = {{VarOf(kernel, "t"), 2, 0}};
  const int64_t other_rows[] = {0, 12};
  EXPECT_EQ(LimitLoops(kernel, right, other_rows).ToText(), kTiles);
  EXPECT_EQ(LimitLoops(kernel, {}, kRowElements).ToText(), kTiles);
}

TEST(LimitLoops, ALimitIsNoVariableOfAKernelForGpus) {
  const Result<Kernel> gpu = Kernel::Parse(
      "kernel k limit rows {\n out y: f32[32]\n parallel for b in 0 .. 1 {\n threads for t in 0 .. "
      "32 {\n y[t] = f32(1.0)\n }\n }\n}\n");
  ASSERT_FALSE(gpu.ok());
  EXPECT_THAT(gpu.status().message(), HasSubstr("a kernel for GPUs has a limit"));
}

}  // namespace
}  // namespace mlc::ir
