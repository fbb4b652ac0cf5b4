// Index arithmetic: what is computed is right, and computed where it is cheap.
#include "tests/unit/codegen/run_kernel.h"

namespace mlc::codegen {
namespace {

using ir::ExprRef;
using ir::Int;
using ir::KernelBuilder;

TEST(Index, DivisionsRoundDownForNegativeOperandsToo) {
  for (const int64_t divisor : {2, 3, 7, 8, 64}) {
    KernelBuilder k("floor");
    const ir::BufferId q = k.Out("q", DType::kI64, 100);
    const ir::BufferId r = k.Out("r", DType::kI64, 100);
    const ir::BufferId s = k.Out("s", DType::kI64, 100);
    k.Parallel("i", 100, [&](ExprRef i) {
      const ExprRef x = i * 3 - 151;
      k.Store(q, i, ir::FloorDiv(x, divisor));
      k.Store(r, i, ir::Mod(x, divisor));
      // Multiples of the divisor leave a division; the rest of the sum stays.
      k.Store(s, i, ir::FloorDiv(x * divisor + i + 5, divisor) + ir::Mod(i * divisor + 1, divisor));
    });
    ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(k.Finish(), {Bytes(800), Bytes(800), Bytes(800)}));
  }
}

TEST(Index, MinMaxProductsAndLets) {
  KernelBuilder k("mixed");
  const ir::BufferId o = k.Out("o", DType::kI64, 240);
  k.Parallel("i", 6, [&](ExprRef i) {
    const ExprRef low = k.Let("low", ir::Max(i - 2, Int(0)));
    k.For("j", low, ir::Min(i * 2 + 1, Int(7)), 1, [&](ExprRef j) {
      const ExprRef twice = k.Let("twice", j * 2);
      k.Unrolled("u", 3, [&](ExprRef u) {
        k.Store(o, i * 40 + j * 5 + u, (low + u) * (twice + i) + ir::Min(u * j, i));
      });
    });
  });
  ExpectSameBytes(k.Finish(), {Bytes(240 * 8)});
}

TEST(Index, LoadedIndicesAreUsedWhereTheyAreLoaded) {
  KernelBuilder k("gather");
  const ir::BufferId t = k.In("t", DType::kI64, 16);
  const ir::BufferId a = k.In("a", DType::kF32, 256);
  const ir::BufferId o = k.Out("o", DType::kF32, 256);
  k.Parallel("i", 16, [&](ExprRef i) {
    const ExprRef row = k.Let("row", k.Load(t, i));
    k.If(
        ir::MakeApply(ScalarOp::kLess, {row, Int(8)}),
        [&] {
          const ExprRef other = k.Let("other", k.Load(t, row));
          k.For("j", 16, [&](ExprRef j) { k.Store(o, i * 16 + j, k.Load(a, other * 16 + j)); });
        },
        [&] { k.Store(o, i * 16, k.Load(a, row * 16 + ir::Mod(k.Load(t, Int(3)), 1), 16)); });
  });
  const std::vector<int64_t> table = {3, 15, 7, 1, 0, 9, 4, 12, 2, 8, 14, 5, 6, 11, 13, 10};
  ExpectSameBytes(k.Finish(), {BytesOf(table), RandomBytes(DType::kF32, 256, 5), Bytes(256 * 4)});
}

TEST(Index, LoopsThatMayNotRun) {
  KernelBuilder k("empty");
  const ir::BufferId n = k.In("n", DType::kI64, 4);
  const ir::BufferId o = k.Out("o", DType::kI64, 4);
  k.Parallel("i", 4, [&](ExprRef i) {
    k.Store(o, i, Int(-1));
    k.For("j", Int(2), k.Load(n, i), 3, [&](ExprRef j) { k.Store(o, i, j); });
  });
  ExpectSameBytes(k.Finish(), {BytesOf(std::vector<int64_t>{-5, 2, 3, 100}), Bytes(4 * 8)});
}

// The inner loop of a register tile holds nothing but its loads, its arithmetic and its counters.
TEST(Index, RegisterTilesAddressByDisplacement) {
  constexpr int kRows = 14;
  constexpr int kLanes = 16;
  KernelBuilder k("tile");
  const ir::BufferId a = k.In("a", DType::kF32, kRows * 4 * 768);
  const ir::BufferId b = k.In("b", DType::kF32, 8 * 768 * 32);
  const ir::BufferId c = k.Out("c", DType::kF32, kRows * 4 * 256);
  const ir::BufferId acc = k.Registers("acc", DType::kF32, kLanes, kRows * 2);
  k.Parallel("j", 8, [&](ExprRef j) {
    k.For("i", 4, [&](ExprRef i) {
      k.Unrolled("m", kRows * 2,
                 [&](ExprRef m) { k.Set(acc, m, ir::Float(DType::kF32, 0, kLanes)); });
      k.For("d", 768, [&](ExprRef d) {
        k.Unrolled("m", kRows, [&](ExprRef m) {
          const ExprRef x = ir::MakeBroadcast(k.Load(a, (i * kRows + m) * 768 + d), kLanes);
          k.Unrolled("v", 2, [&](ExprRef v) {
            const ExprRef y = k.Load(b, (j * 768 + d) * 32 + v * kLanes, kLanes);
            const ExprRef at = m * 2 + v;
            k.Set(acc, at, ir::MakeApply(ScalarOp::kFma, {x, y, k.Get(acc, at)}));
          });
        });
      });
      k.Unrolled("m", kRows, [&](ExprRef m) {
        k.Unrolled("v", 2, [&](ExprRef v) {
          k.Store(c, (i * kRows + m) * 256 + j * 32 + v * kLanes, k.Get(acc, m * 2 + v));
        });
      });
    });
  });
  target::Target target;
  target.cpu().isa = target::Isa::kAvx512;
  const auto assembly = PrintAssembly(k.Finish(), target);
  ASSERT_TRUE(assembly.ok()) << assembly.status().ToString();
  // The block of the multiply-adds, from its label to its branch.
  const size_t first = assembly->find("vfmadd");
  ASSERT_NE(first, std::string::npos);
  const size_t begin = assembly->rfind(":\n", first);
  const size_t end = assembly->find("\tj", first);
  const std::string loop = assembly->substr(begin + 2, end - begin - 2);
  int fused = 0;
  int others = 0;
  for (size_t at = 0; (at = loop.find("\t", at)) != std::string::npos;) {
    const size_t line_end = loop.find('\n', at);
    const std::string line = loop.substr(at, line_end - at);
    at = line_end;
    if (line.find("vfmadd") != std::string::npos) {
      ++fused;
    } else if (line.find("vbroadcastss") == std::string::npos &&
               line.find("vmov") == std::string::npos) {
      ++others;
    }
    EXPECT_EQ(line.find("(%rsp)"), std::string::npos) << "a register is spilled: " << line;
  }
  EXPECT_EQ(fused, 2 * kRows) << loop;
  EXPECT_LE(others, 4) << loop;
}

}  // namespace
}  // namespace mlc::codegen
