// Loads, stores, masks, strides, reductions, registers and scratch, against the interpreter.
#include "tests/unit/codegen/run_kernel.h"

namespace mlc::codegen {
namespace {

using ir::ExprRef;
using ir::Int;
using ir::KernelBuilder;

// One of each width and form of small and unsigned types beside the others.
constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kF16,     DType::kBF16, DType::kI8,
                            DType::kU8,  DType::kI16, DType::kI32,     DType::kI64,  DType::kBool,
                            DType::kU16, DType::kI4,  DType::kF8E4M3Fn};

Bytes Zeros(DType dtype, int64_t count) {
  return Bytes(static_cast<size_t>(count * SizeOf(dtype)), std::byte{0});
}

TEST(Memory, TailsAreMaskedOnBothSides) {
  constexpr int64_t kCount = 77;
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(ToText(dtype));
    for (const int lanes : {1, 8, 16}) {
      KernelBuilder k("tail");
      const ir::BufferId a = k.In("a", dtype, kCount);
      const ir::BufferId o = k.Out("o", dtype, kCount);
      k.Parallel("i", (kCount + lanes - 1) / lanes, [&](ExprRef i) {
        const ExprRef active = Int(kCount) - i * lanes;
        k.Store(o, i * lanes, k.Load(a, i * lanes, lanes, 1, active), 1, active);
      });
      ASSERT_NO_FATAL_FAILURE(
          ExpectSameBytes(k.Finish(), {RandomBytes(dtype, kCount, 5), Zeros(dtype, kCount)}));
    }
  }
}

TEST(Memory, LanesOutsideAMaskReadAsZeroEvenOutsideTheBuffer) {
  KernelBuilder k("outside");
  const ir::BufferId a = k.In("a", DType::kF32, 8);
  const ir::BufferId o = k.Out("o", DType::kF32, 64);
  k.Parallel("i", 4, [&](ExprRef i) {
    // 8, 4, 0 and -4 lanes are active.
    k.Store(o, i * 16, k.Load(a, Int(0), 16, 1, Int(8) - i * 4));
  });
  ExpectSameBytes(k.Finish(), {RandomBytes(DType::kF32, 8, 5), Zeros(DType::kF32, 64)});
}

TEST(Memory, NothingBehindAConstantNumberOfLanesIsWritten) {
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(ToText(dtype));
    for (int active = 1; active <= 17; ++active) {
      KernelBuilder k("leading");
      const ir::BufferId a = k.In("a", dtype, 64);
      const ir::BufferId o = k.Out("o", dtype, 64);
      k.Parallel("i", 3,
                 [&](ExprRef i) { k.Store(o, i * 17, k.Load(a, i * 16, 16), 1, Int(active)); });
      ASSERT_NO_FATAL_FAILURE(
          ExpectSameBytes(k.Finish(), {RandomBytes(dtype, 64, 5), RandomBytes(dtype, 64, 6)}));
    }
  }
}

TEST(Memory, StridesGatherAndScatter) {
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(ToText(dtype));
    for (const int64_t stride : {0, 2, 3, 7}) {
      for (const bool masked : {false, true}) {
        KernelBuilder k("strided");
        const ir::BufferId a = k.In("a", dtype, 256);
        const ir::BufferId o = k.Out("o", dtype, 64);
        const ir::BufferId p = k.Out("p", dtype, 512);
        k.Parallel("i", 4, [&](ExprRef i) {
          const ExprRef active = masked ? Int(19) - i * 6 : ExprRef();
          const ExprRef x = k.Load(a, i * 16, 16, stride, active);
          k.Store(o, i * 16, x);
          const int64_t apart = stride == 0 ? 1 : stride;
          k.Store(p, i * 128, x, apart, active);
        });
        ASSERT_NO_FATAL_FAILURE(ExpectSameBytes(
            k.Finish(), {RandomBytes(dtype, 256, 9), Zeros(dtype, 64), Zeros(dtype, 512)}));
      }
    }
  }
}

TEST(Memory, BroadcastLaneMaskAndLaneIndex) {
  KernelBuilder k("lane_ops");
  const ir::BufferId a = k.In("a", DType::kF32, 4);
  const ir::BufferId o = k.Out("o", DType::kF32, 64);
  const ir::BufferId n = k.Out("n", DType::kI32, 64);
  k.Parallel("i", 4, [&](ExprRef i) {
    const ExprRef x = ir::MakeBroadcast(k.Load(a, i), 16);
    const ExprRef mask = ir::MakeLaneMask(i * 5 + 1, 16);
    const ExprRef lane = ir::MakeLaneIndex(DType::kF32, 16);
    k.Store(o, i * 16, ir::MakeApply(ScalarOp::kSelect, {mask, x, lane}));
    k.Store(n, i * 16, ir::MakeLaneIndex(DType::kI32, 16));
  });
  ExpectSameBytes(k.Finish(),
                  {RandomBytes(DType::kF32, 4, 5), Zeros(DType::kF32, 64), Zeros(DType::kI32, 64)});
}

TEST(Memory, LanesChangePlaces) {
  for (const int lanes : {2, 8, 16}) {
    KernelBuilder k("shuffles");
    const ir::BufferId a = k.In("a", DType::kF32, 32);
    const ir::BufferId o = k.Out("o", DType::kF32, 32 * lanes);
    k.Parallel("i", 32 / lanes, [&](ExprRef i) {
      for (int mask = 1; mask < lanes; ++mask) {
        const ExprRef x = k.Load(a, i * lanes, lanes);
        k.Store(o, (i + mask * (32 / lanes)) * lanes, ir::MakeShuffleXor(x, mask));
      }
    });
    ExpectSameBytes(k.Finish(), {RandomBytes(DType::kF32, 32, 5), Zeros(DType::kF32, 32 * lanes)});
  }
}

TEST(Memory, SquaresOfRegistersAreTransposed) {
  for (const DType dtype : kTypes) {
    SCOPED_TRACE(ToText(dtype));
    for (const int lanes : {2, 4, 8, 16}) {
      KernelBuilder k("square");
      const ir::BufferId a = k.In("a", dtype, 600);
      const ir::BufferId o = k.Out("o", dtype, 600);
      const ir::BufferId r = k.Registers("r", dtype, lanes, lanes + 1);
      k.Parallel("i", 2, [&](ExprRef i) {
        k.Unrolled("l", lanes, [&](ExprRef l) {
          k.Set(r, l + 1, k.Load(a, i * 300 + l * (lanes + 1), lanes));
        });
        k.TransposeRegisters(r, Int(1));
        k.Unrolled("l", lanes,
                   [&](ExprRef l) { k.Store(o, i * 300 + l * lanes, k.Get(r, l + 1)); });
      });
      ASSERT_NO_FATAL_FAILURE(
          ExpectSameBytes(k.Finish(), {RandomBytes(dtype, 600, 9), Zeros(dtype, 600)}));
    }
  }
}

TEST(Memory, ExactReductionsOverLanes) {
  for (const DType dtype : {DType::kI32, DType::kU8, DType::kI64, DType::kF32, DType::kF64}) {
    for (const ScalarOp op : {ScalarOp::kAdd, ScalarOp::kMul, ScalarOp::kMax, ScalarOp::kMin}) {
      const bool rounds = IsFloat(dtype) && (op == ScalarOp::kAdd || op == ScalarOp::kMul);
      if (rounds) continue;  // the order of a sum is free; see below
      for (const int lanes : {2, 4, 16, 32}) {
        KernelBuilder k("fold_lanes");
        const ir::BufferId a = k.In("a", dtype, 128);
        const ir::BufferId o = k.Out("o", dtype, 128 / lanes);
        k.Parallel("i", 128 / lanes, [&](ExprRef i) {
          k.Store(o, i, ir::MakeReduce(op, k.Load(a, i * lanes, lanes)));
        });
        ASSERT_NO_FATAL_FAILURE(
            ExpectSameBytes(k.Finish(), {RandomBytes(dtype, 128, 9), Zeros(dtype, 128 / lanes)}));
      }
    }
  }
}

TEST(Memory, FloatSumsOverLanesAreClose) {
  KernelBuilder k("sum");
  const ir::BufferId a = k.In("a", DType::kF32, 256);
  const ir::BufferId o = k.Out("o", DType::kF32, 16);
  k.Parallel("i", 16, [&](ExprRef i) {
    k.Store(o, i, ir::MakeReduce(ScalarOp::kAdd, k.Load(a, i * 16, 16)));
  });
  const ir::Kernel kernel = k.Finish();
  const std::vector<Bytes> params = {RandomBytes(DType::kF32, 256, 9), Zeros(DType::kF32, 16)};
  const auto in = ValuesOf<float>(params[0]);
  for (const target::Isa isa : HostIsas()) {
    std::vector<Bytes> actual = params;
    ASSERT_NO_FATAL_FAILURE(RunGenerated(kernel, isa, &actual));
    const auto sums = ValuesOf<float>(actual[1]);
    for (size_t i = 0; i < 16; ++i) {
      double want = 0;
      for (size_t j = 0; j < 16; ++j) want += in[i * 16 + j];
      EXPECT_NEAR(sums[i], want, 1e-5);
    }
  }
}

TEST(Memory, RegistersCarryThroughLoopsAndBranches) {
  KernelBuilder k("carry");
  const ir::BufferId a = k.In("a", DType::kI32, 256);
  const ir::BufferId o = k.Out("o", DType::kI32, 64);
  const ir::BufferId acc = k.Registers("acc", DType::kI32, 16, 2);
  const ir::BufferId count = k.Registers("count", DType::kI32, 1, 1);
  k.Parallel("i", 2, [&](ExprRef i) {
    k.Unrolled("r", 2, [&](ExprRef r) { k.Set(acc, r, ir::MakeLaneIndex(DType::kI32, 16)); });
    k.Set(count, Int(0), ir::MakeCast(DType::kI32, i));
    k.For("j", 8, [&](ExprRef j) {
      const ExprRef x = k.Load(a, j * 16 + i * 128, 16);
      k.If(
          ir::MakeApply(ScalarOp::kLess, {j, Int(3) + i}),
          [&] {
            k.Set(acc, Int(0), ir::MakeApply(ScalarOp::kAdd, {k.Get(acc, Int(0)), x}));
          },
          [&] {
            k.Set(acc, Int(1), ir::MakeApply(ScalarOp::kSub, {k.Get(acc, Int(1)), x}));
          });
      k.Set(count, Int(0),
            ir::MakeApply(ScalarOp::kAdd, {k.Get(count, Int(0)), ir::MakeCast(DType::kI32, j)}));
    });
    const ExprRef extra = ir::MakeBroadcast(k.Get(count, Int(0)), 16);
    k.Unrolled("r", 2, [&](ExprRef r) {
      k.Store(o, i * 32 + r * 16, ir::MakeApply(ScalarOp::kSub, {k.Get(acc, r), extra}));
    });
  });
  ExpectSameBytes(k.Finish(), {RandomBytes(DType::kI32, 256, 9), Zeros(DType::kI32, 64)});
}

TEST(Memory, ScratchIsSharedAcrossPhasesAndPrivateToThreads) {
  KernelBuilder k("scratch");
  const ir::BufferId a = k.In("a", DType::kF32, 96);
  const ir::BufferId o = k.Out("o", DType::kF32, 96);
  const ir::BufferId byte = k.Workspace("byte", DType::kU8, 3);
  const ir::BufferId all = k.Workspace("all", DType::kF32, 96);
  const ir::BufferId odd = k.Thread("odd", DType::kI16, 5);
  const ir::BufferId own = k.Thread("own", DType::kF32, 16);
  k.Parallel("i", 6, [&](ExprRef i) {
    k.Store(odd, Int(4), ir::MakeCast(DType::kI16, i));
    k.Store(own, Int(0), k.Load(a, i * 16, 16));
    k.For("j", 16, [&](ExprRef j) {
      const ExprRef back = k.Load(own, Int(15) - j);
      k.Store(
          all, i * 16 + j,
          ir::MakeApply(ScalarOp::kAdd, {back, ir::MakeCast(DType::kF32, k.Load(odd, Int(4)))}));
    });
  });
  k.Parallel("b", 3, [&](ExprRef b) { k.Store(byte, b, ir::MakeCast(DType::kU8, b + 7)); });
  k.Parallel("p", 6, [&](ExprRef p) {
    const ExprRef scale = ir::MakeCast(DType::kF32, k.Load(byte, ir::Mod(p, 3)));
    k.Store(o, p * 16,
            ir::MakeApply(ScalarOp::kMul,
                          {k.Load(all, Int(80) - p * 16, 16), ir::MakeBroadcast(scale, 16)}));
  });
  const ir::Kernel kernel = k.Finish();
  const KernelLayout layout = LayoutOf(kernel);
  EXPECT_EQ(layout.phase_extents, (std::vector<int64_t>{6, 3, 6}));
  EXPECT_EQ(layout.workspace_bytes, 64 + 384);
  EXPECT_EQ(layout.thread_bytes, 64 + 64);
  ExpectSameBytes(kernel, {RandomBytes(DType::kF32, 96, 9), Zeros(DType::kF32, 96)}, 3);
}

TEST(Memory, StreamingStoresAndPrefetchesChangeNothing) {
  KernelBuilder k("stream");
  const ir::BufferId a = k.In("a", DType::kF32, 256);
  const ir::BufferId o = k.Out("o", DType::kF32, 256);
  k.Parallel("i", 16, [&](ExprRef i) {
    k.Prefetch(a, i * 16, 1);
    k.Prefetch(a, i * 16, 2);
    k.Store(o, i * 16, k.Load(a, i * 16, 16), 1, {}, /*streaming=*/true);
  });
  const ir::Kernel kernel = k.Finish();
  ExpectSameBytes(kernel, {RandomBytes(DType::kF32, 256, 9), Zeros(DType::kF32, 256)});
  target::Target target;
  target.cpu().isa = target::Isa::kAvx512;
  const auto assembly = PrintAssembly(kernel, target);
  ASSERT_TRUE(assembly.ok()) << assembly.status().ToString();
  EXPECT_NE(assembly->find("vmovntps"), std::string::npos);
  EXPECT_NE(assembly->find("prefetcht0"), std::string::npos);
  EXPECT_NE(assembly->find("prefetcht1"), std::string::npos);
}

}  // namespace
}  // namespace mlc::codegen
