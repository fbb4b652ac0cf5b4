#include "compiler/ir/limit_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

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

// Three runs of 4 elements are a row: a tile may begin in one and end in the next.
TEST(LimitLoops, TilesOfPartsEndWithTheRowsThatACallNeeds) {
  const Kernel kernel = Parsed(kTiles);
  RowLoop loop = {VarOf(kernel, "t"), 2, 0};
  loop.parts = 3;
  const int64_t row_elements[] = {0, 12};
  const Kernel limited = LimitLoops(kernel, {&loop, 1}, row_elements);
  ASSERT_TRUE(limited.Verify().ok()) << limited.ToText();
  for (int64_t limit = 0; limit <= 4; ++limit) {
    const std::array<float, 48> y = Interpreted(limited, limit);
    const auto written = static_cast<size_t>((3 * limit + 1) / 2 * 8);
    EXPECT_THAT(std::span(y).first(written), Each(1.0F)) << limit;
    EXPECT_THAT(std::span(y).subspan(written), Each(7.0F)) << limit;
  }
  EXPECT_THAT(Interpreted(limited, kNoLimit), Each(1.0F));
  loop.parts = 2;
  EXPECT_EQ(LimitLoops(kernel, {&loop, 1}, row_elements).ToText(), kTiles);
}

// Rows of 4 elements: two tiles of 3 rows, then four of 2; two chunks. y is the number of the
// chunk.
constexpr char kChunks[] = R"(kernel k {
  in x: f32[8]
  out y: f32[56]
  parallel for p in 0 .. 2 {
    for t in max(mul(p, 3), 0) .. min(mul(add(p, 1), 3), 2) {
      let at = mul(t, 3)
      for r in at .. add(at, 3) {
        y[mul(r, 4)] = x[mul(p, 4), lanes=4]
      }
    }
    for u in max(mul(p, 3), 2) .. min(mul(add(p, 1), 3), 6) {
      let at2 = add(mul(u, 2), 2)
      for r2 in at2 .. add(at2, 2) {
        y[mul(r2, 4)] = x[mul(p, 4), lanes=4]
      }
    }
  }
}
)";

std::vector<RowLoop> LoopsOfChunks(const Kernel& kernel) {
  const ExprRef p =
      std::make_shared<const Expr>(Expr{Type{DType::kI64, 1}, VarRef{VarOf(kernel, "p")}});
  const RowShare share{p, 2, 6};
  return {{VarOf(kernel, "t"), 3, 0, share, 0, 2}, {VarOf(kernel, "u"), 2, 2, share, 2, 6}};
}

// The number of the chunk that has written each row; 7: none has.
std::vector<float> ChunksOf(const Kernel& kernel, int64_t limit) {
  std::array<float, 8> x = {0, 0, 0, 0, 1, 1, 1, 1};
  std::array<float, 56> y = {};
  y.fill(7);
  const std::span<std::byte> params[] = {std::as_writable_bytes(std::span(x)),
                                         std::as_writable_bytes(std::span(y))};
  const Status status = Interpret(kernel, params, limit);
  EXPECT_TRUE(status.ok()) << status.message();
  std::vector<float> rows;
  for (size_t i = 0; i < y.size(); i += 4) rows.push_back(y[i]);
  return rows;
}

TEST(LimitLoops, ChunksDivideWhatACallNeeds) {
  const Kernel kernel = Parsed(kChunks);
  const Kernel limited = LimitLoops(kernel, LoopsOfChunks(kernel), kRowElements);
  ASSERT_TRUE(limited.Verify().ok()) << limited.ToText();
  EXPECT_EQ(ChunksOf(limited, kNoLimit), ChunksOf(kernel, kNoLimit));
  EXPECT_THAT(ChunksOf(limited, 3), ElementsAre(1, 1, 1, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7));
  EXPECT_THAT(ChunksOf(limited, 5), ElementsAre(0, 0, 0, 1, 1, 1, 7, 7, 7, 7, 7, 7, 7, 7));
  EXPECT_THAT(ChunksOf(limited, 10), ElementsAre(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 7, 7, 7, 7));
  for (int64_t limit = 0; limit <= 14; ++limit) {
    const std::vector<float> rows = ChunksOf(limited, limit);
    EXPECT_THAT(std::span(rows).first(static_cast<size_t>(limit)), Each(::testing::Ne(7.0F)))
        << limit;
  }
}

// Where one of the loops is over something else, all of them keep their chunks.
TEST(LimitLoops, ChunksStayWhereALoopIsNotOverTheRows) {
  const Kernel kernel = Parsed(kChunks);
  std::vector<RowLoop> loops = LoopsOfChunks(kernel);
  loops[1].rows = 3;
  const Kernel limited = LimitLoops(kernel, loops, kRowElements);
  EXPECT_THAT(ChunksOf(limited, 3), ElementsAre(0, 0, 0, 7, 7, 7, 0, 0, 1, 1, 1, 1, 1, 1));
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
