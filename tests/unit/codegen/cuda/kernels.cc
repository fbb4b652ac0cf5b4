#include "tests/unit/codegen/cuda/kernels.h"

#include "base/check.h"
#include "compiler/ir/build_async.h"
#include "compiler/ir/types.h"

namespace mlc::codegen {

namespace {

using ir::BufferId;
using ir::ExprRef;
using ir::Int;
using ir::KernelBuilder;

ExprRef Apply(ScalarOp op, std::vector<ExprRef> args) { return ir::MakeApply(op, std::move(args)); }

// out = max(a + b, 0), four at a time, the last few masked.
ir::Kernel Pointwise() {
  KernelBuilder k("add_relu");
  const BufferId a = k.In("a", DType::kF32, 1001);
  const BufferId b = k.In("b", DType::kF32, 1001);
  const BufferId out = k.Out("y", DType::kF32, 1001);
  k.Launch(2, 128, 0, [&](ExprRef block, ExprRef thread) {
    const ExprRef at = k.Let("at", (block * 128 + thread) * 4);
    const ExprRef rest = k.Let("rest", Int(1001) - at);
    const ExprRef sum =
        Apply(ScalarOp::kAdd, {k.Load(a, at, 4, 1, rest), k.Load(b, at, 4, 1, rest)});
    k.Store(out, at, Apply(ScalarOp::kMax, {sum, ir::Float(DType::kF32, 0, 4)}), 1, rest);
  });
  return k.Finish();
}

// f16 in and out, computed in f32; the mask cuts whole vectors.
ir::Kernel NarrowGelu() {
  KernelBuilder k("gelu_f16");
  const BufferId in = k.In("x", DType::kF16, 4096);
  const BufferId out = k.Out("y", DType::kF16, 4096);
  k.Approximate();
  k.Launch(3, 256, 2, [&](ExprRef block, ExprRef thread) {
    const ExprRef at = k.Let("at", (block * 256 + thread) * 8);
    const ExprRef rest = k.Let("rest", Int(4096) - at);
    const ExprRef x = ir::MakeCast(DType::kF32, k.Load(in, at, 8, 1, rest));
    const ExprRef erf =
        Apply(ScalarOp::kErf, {Apply(ScalarOp::kMul, {x, ir::Float(DType::kF32, 0.70710678, 8)})});
    const ExprRef half = Apply(ScalarOp::kMul, {x, ir::Float(DType::kF32, 0.5, 8)});
    const ExprRef gelu = Apply(ScalarOp::kFma, {half, erf, half});
    k.Store(out, at, ir::MakeCast(DType::kF16, gelu), 1, rest, true);
  });
  return k.Finish();
}

// Sums of rows: lanes, then a warp, then a block.
ir::Kernel RowSum() {
  KernelBuilder k("row_sum");
  const BufferId in = k.In("x", DType::kF32, 64 * 1024);
  const BufferId out = k.Out("sum", DType::kF32, 64);
  const BufferId partial = k.SharedMemory("partial", DType::kF32, 4);
  const BufferId total = k.Registers("total", DType::kF32, 1, 1);
  k.Launch(64, 128, 0, [&](ExprRef row, ExprRef thread) {
    k.Set(total, Int(0), ir::Float(DType::kF32, 0));
    k.For("i", Int(0), Int(1024), 512, [&](ExprRef i) {
      const ExprRef v = k.Load(in, row * 1024 + i + thread * 4, 4);
      k.Set(total, Int(0),
            Apply(ScalarOp::kAdd, {k.Get(total, Int(0)), ir::MakeReduce(ScalarOp::kAdd, v)}));
    });
    for (const int mask : {16, 8, 4, 2, 1}) {
      const ExprRef mine = k.Get(total, Int(0));
      k.Set(total, Int(0), Apply(ScalarOp::kAdd, {mine, ir::MakeShuffleXor(mine, mask)}));
    }
    k.If(Apply(ScalarOp::kEqual, {ir::Mod(thread, 32), Int(0)}),
         [&] { k.Store(partial, ir::FloorDiv(thread, 32), k.Get(total, Int(0))); });
    k.Barrier();
    k.If(
        Apply(ScalarOp::kEqual, {thread, Int(0)}),
        [&] { k.Store(out, row, ir::MakeReduce(ScalarOp::kAdd, k.Load(partial, Int(0), 4))); },
        [&] { k.WarpBarrier(); });
  });
  return k.Finish();
}

// Halves of a sum meet in global scratch; the last block adds them.
ir::Kernel SplitSum() {
  KernelBuilder k("split_sum");
  const BufferId in = k.In("x", DType::kF32, 2 * 256);
  const BufferId out = k.Out("sum", DType::kF32, 256);
  const BufferId halves = k.Workspace("halves", DType::kF32, 2 * 256);
  const BufferId counter = k.Counter("arrived", 1);
  k.Launch(2, 256, 0, [&](ExprRef half, ExprRef thread) {
    k.AwaitInputs();
    const ExprRef at = half * 256 + thread;
    k.Store(halves, at, k.Load(in, at));
    k.ReleaseDependents();
    const ExprRef last = k.Arrive("last", counter, Int(0), 2);
    k.If(Apply(ScalarOp::kEqual, {last, Int(1)}), [&] {
      k.Store(out, thread,
              Apply(ScalarOp::kAdd, {k.Load(halves, thread), k.Load(halves, thread + 256)}));
    });
  });
  return k.Finish();
}

// Rows chosen by a table of 64-bit numbers, out of more elements than 32 bits count.
ir::Kernel Gather() {
  KernelBuilder k("gather");
  const BufferId table = k.In("table", DType::kBF16, int64_t{1} << 33);
  const BufferId rows = k.In("rows", DType::kI64, 128);
  const BufferId out = k.Out("y", DType::kF32, 128 * 64);
  k.Launch(128, 32, 0, [&](ExprRef row, ExprRef thread) {
    const ExprRef chosen = k.Let("chosen", k.Load(rows, row));
    const ExprRef from = chosen * 64 + thread * 2;
    k.Prefetch(table, from, 2);
    k.Store(out, row * 64 + thread * 2, ir::MakeCast(DType::kF32, k.Load(table, from, 2)));
  });
  return k.Finish();
}

// Strides, private memory, unrolled loops, floor divisions of what may be negative.
ir::Kernel Window() {
  KernelBuilder k("window");
  const BufferId in = k.In("x", DType::kF32, 56 * 56);
  const BufferId out = k.Out("y", DType::kF32, 28 * 56);
  const BufferId line = k.Thread("line", DType::kF32, 8);
  k.Launch(28, 64, 0, [&](ExprRef row, ExprRef thread) {
    k.If(Apply(ScalarOp::kLess, {thread, Int(56)}), [&] {
      k.Unrolled("j", 3, [&](ExprRef j) {
        const ExprRef y = k.Let("y_in", row * 2 + j - 1);
        const ExprRef inside =
            Apply(ScalarOp::kSelect, {Apply(ScalarOp::kLessEqual, {Int(0), y}), Int(1), Int(0)});
        k.Store(line, j, k.Load(in, y * 56 + thread, 1, 1, inside));
      });
      const ExprRef before = ir::FloorDiv(thread - 3, 4) + ir::Mod(thread - 3, 5) + 2;
      const ExprRef v = k.Load(in, ir::Max(before, Int(0)), 2, 3);
      const ExprRef edge = Apply(ScalarOp::kMul, {k.Load(line, Int(0)), k.Load(line, Int(2))});
      k.Store(out, row * 56 + thread,
              Apply(ScalarOp::kAdd, {edge, ir::MakeReduce(ScalarOp::kMax, v)}));
    });
  });
  return k.Finish();
}

// Words of C++ as names, and buffers that share their place.
ir::Kernel Names() {
  KernelBuilder k("float");
  const BufferId in = k.In("int", DType::kI8, 256);
  const BufferId out = k.Out("operator", DType::kU8, 256);
  const BufferId a = k.SharedMemory("while", DType::kI32, 64);
  const BufferId b = k.SharedMemory("_x", DType::kF64, 64, a);
  const BufferId next = k.Registers("next", DType::kI32, 1, 1);
  k.Launch(1, 32, 0, [&](ExprRef, ExprRef thread) {
    k.Store(a, thread, ir::MakeCast(DType::kI32, k.Load(in, thread)));
    k.Barrier();
    k.Set(next, Int(0), k.Load(a, ir::Mod(thread + 1, 32)));
    k.Barrier();
    k.Store(b, thread, ir::MakeCast(DType::kF64, k.Get(next, Int(0))));
    k.Store(out, thread * 8, ir::MakeBroadcast(ir::MakeCast(DType::kU8, k.Load(b, thread)), 8));
  });
  return k.Finish();
}

}  // namespace

ir::Kernel MatrixTile(DType dtype) {
  const bool tf32 = dtype == DType::kF32;
  const int depth = tf32 ? 8 : 16;      // of one instruction
  const int64_t k_size = 8 * depth;     // of the product
  const int wide = 16 / SizeOf(dtype);  // elements of a copy
  const int64_t pitch = depth + wide;   // of a row in shared memory
  KernelBuilder k(tf32 ? "tile_tf32" : dtype == DType::kF16 ? "tile_f16" : "tile_bf16");
  const BufferId a = k.In("a", dtype, 64 * k_size);
  const BufferId b = k.In("b", dtype, 32 * k_size);
  const BufferId out = k.Out("c", DType::kF32, 64 * 32);
  const BufferId a_tile = k.SharedMemory("a_tile", dtype, 2 * 64 * pitch);
  const BufferId b_tile = k.SharedMemory("b_tile", dtype, 2 * 32 * pitch);
  const BufferId sum = k.Registers("sum", DType::kF32, 4, 4);
  const BufferId a_part = k.Registers("a_part", dtype, tf32 ? 4 : 8, 1);
  const BufferId b_part = k.Registers("b_part", dtype, tf32 ? 2 : 8, tf32 ? 4 : 2);
  k.Launch(1, 128, 2, [&](ExprRef, ExprRef thread) {
    const ExprRef warp = k.Let("warp", ir::FloorDiv(thread, 32));
    const ExprRef lane = k.Let("lane", ir::Mod(thread, 32));
    const auto copy = [&](ExprRef step) {
      const ExprRef stage = ir::Mod(step, 2);
      const ExprRef row = ir::FloorDiv(thread, 2);
      const ExprRef column = ir::Mod(thread, 2) * wide;
      k.CopyAsync(a_tile, (stage * 64 + row) * pitch + column, a,
                  row * k_size + step * depth + column, wide);
      k.If(Apply(ScalarOp::kLess, {thread, Int(64)}), [&] {
        k.CopyAsync(b_tile, (stage * 32 + row) * pitch + column, b,
                    row * k_size + step * depth + column, wide, Int(31) * wide - row * wide);
      });
      k.CommitCopies();
    };
    k.Unrolled("i", 4, [&](ExprRef i) { k.Set(sum, i, ir::Float(DType::kF32, 0, 4)); });
    copy(Int(0));
    k.For("slab", 8, [&](ExprRef step) {
      k.If(Apply(ScalarOp::kLess, {step, Int(7)}), [&] { copy(step + 1); });
      k.WaitCopies(1);
      k.Barrier();
      const ExprRef stage = k.Let("stage", ir::Mod(step, 2));
      if (tf32) {
        const ExprRef row = k.Let("row", stage * 64 + warp * 16 + ir::Mod(lane, 16));
        const ExprRef group = k.Let("group", stage * 32 + ir::FloorDiv(lane, 4));
        const auto round = [](ExprRef x) { return Apply(ScalarOp::kRoundTf32, {std::move(x)}); };
        k.LoadMatrix(a_part, Int(0), a_tile, row * pitch + ir::FloorDiv(lane, 16) * 4);
        k.Set(a_part, Int(0), round(k.Get(a_part, Int(0))));
        k.Unrolled("i", 4, [&](ExprRef i) {
          k.Set(b_part, i, round(k.Load(b_tile, (group + i * 8) * pitch + ir::Mod(lane, 4), 2, 4)));
        });
      } else {
        const ExprRef row = ir::Mod(lane, 16);
        const ExprRef half = ir::FloorDiv(lane, 16) * 8;
        k.LoadMatrix(a_part, Int(0), a_tile, (stage * 64 + warp * 16 + row) * pitch + half);
        k.Unrolled("i", 2, [&](ExprRef i) {
          k.LoadMatrix(b_part, i, b_tile, (stage * 32 + i * 16 + row) * pitch + half, true);
        });
      }
      k.Unrolled("i", tf32 ? 4 : 2, [&](ExprRef i) {
        for (int part = 0; part < (tf32 ? 1 : 2); ++part) {
          k.Mma(sum, tf32 ? i : i * 2 + part, a_part, Int(0), b_part, i, part);
        }
      });
      k.Barrier();
    });
    k.Unrolled("i", 4, [&](ExprRef i) {
      k.Store(out, (warp * 16 + ir::FloorDiv(lane, 4)) * 32 + i * 8, k.Get(sum, i));
    });
  });
  return k.Finish();
}

ir::Kernel ClusterSum() {
  KernelBuilder k("cluster_sum");
  const BufferId in = k.In("x", DType::kF32, 4 * 1024);
  const BufferId out = k.Out("sum", DType::kF32, 1024);
  const BufferId tile = k.SharedMemory("tile", DType::kF32, 1024);
  const BufferId peers = k.Registers("peers", DType::kF32, 8, 4);
  k.Launch(
      4, 32, 0,
      [&](ExprRef block, ExprRef thread) {
        k.For("i", 4, [&](ExprRef i) {
          const ExprRef at = k.Let("at", i * 256 + thread * 8);
          k.Store(tile, at, k.Load(in, block * 1024 + at, 8));
        });
        k.ClusterBarrier();
        const ExprRef own = k.Let("own", block * 256 + thread * 8);
        for (int rank = 0; rank < 4; ++rank) k.LoadPeer(peers, Int(rank), tile, own, Int(rank));
        ExprRef sum = k.Get(peers, Int(0));
        for (int rank = 1; rank < 4; ++rank) {
          sum = Apply(ScalarOp::kAdd, {sum, k.Get(peers, Int(rank))});
        }
        k.Store(out, own, sum);
        k.ClusterBarrier();
      },
      4);
  return k.Finish();
}

namespace {

// The second fragment of codes, with a bias where the type has one, and the first without.
ir::Kernel Unpacked(DType dtype, int bits, DType of = DType::kI32) {
  const bool is_float8 = of != DType::kI32;
  const int lanes = is_float8 ? 16 : 4;
  KernelBuilder k("unpack_" + std::string(ToText(dtype)) + "_" +
                  (is_float8 ? std::string(ToText(of)) : std::to_string(bits)));
  const BufferId in = k.In("codes_of", of, int64_t{32} * lanes);
  const BufferId numbers = k.In("numbers", dtype, 128);
  const BufferId out = k.Out("y", dtype, 512);
  const BufferId codes = k.Registers("codes", of, lanes, 1);
  const BufferId pairs = k.Registers("pairs", dtype, 2, 2);
  const BufferId fragments = k.Registers("fragments", dtype, 8, 2);
  k.Launch(1, 32, 0, [&](ExprRef, ExprRef thread) {
    k.Set(codes, Int(0), k.Load(in, thread * int64_t{lanes}, lanes));
    k.Set(pairs, Int(0), k.Load(numbers, thread * 2, 2));
    k.Set(pairs, Int(1), k.Load(numbers, thread * 2 + 64, 2));
    k.Unpack({fragments, Int(0), codes, Int(0), pairs, Int(0), pairs, Int(1), bits, 1,
              is_float8 ? 0 : ir::BiasOfCodes(dtype, bits)});
    k.Unpack({fragments, Int(1), codes, Int(0), pairs, Int(0), pairs, Int(1), bits});
    k.Unrolled("i", 2, [&](ExprRef i) { k.Store(out, thread * 16 + i * 8, k.Get(fragments, i)); });
  });
  return k.Finish();
}

// Operands lie in memory as in the tiles.
ir::Kernel WarpgroupTile() {
  KernelBuilder k("warpgroup_tile");
  const BufferId a = k.In("a", DType::kF16, 2 * 64 * 64);
  const BufferId b = k.In("b", DType::kF16, 16 * 64);
  const BufferId out = k.Out("c", DType::kF32, 2 * 64 * 16);
  const BufferId first = k.SharedMemory("first", DType::kF32, 8);
  const BufferId a_tile = k.SharedMemory("a_tile", DType::kF16, 2 * 64 * 64);
  const BufferId b_tile = k.SharedMemory("b_tile", DType::kF16, 16 * 64);
  const BufferId sum = k.Registers("sum", DType::kF32, 4, 2);
  k.Launch(1, 256, 1, [&](ExprRef, ExprRef thread) {
    k.Unrolled("i", 4, [&](ExprRef i) {
      k.CopyAsync(a_tile, (i * 256 + thread) * 8, a, (i * 256 + thread) * 8, 8);
    });
    k.If(Apply(ScalarOp::kLess, {thread, Int(128)}),
         [&] { k.CopyAsync(b_tile, thread * 8, b, thread * 8, 8); });
    k.Unrolled("i", 2, [&](ExprRef i) { k.Set(sum, i, ir::Float(DType::kF32, 0, 4)); });
    k.CommitCopies();
    k.WaitCopies(0);
    k.Store(first, ir::Mod(thread, 8), ir::Float(DType::kF32, 0));
    k.FenceTiles();
    k.Barrier();
    const ExprRef group = k.Let("group", ir::FloorDiv(thread, 128));
    k.WarpgroupMma(sum, Int(0), a_tile, group * (64 * 64), b_tile, Int(0), 16);
    k.WaitProducts(1);
    k.WaitProducts(0);
    const ExprRef row = ir::FloorDiv(thread, 32) * 16 + ir::FloorDiv(ir::Mod(thread, 32), 4);
    k.Unrolled("i", 2, [&](ExprRef i) { k.Store(out, row * 16 + i * 8, k.Get(sum, i)); });
  });
  return k.Finish();
}

// Rows come to registers in the order of their fragments; one product begins the sums, one adds.
ir::Kernel WarpgroupRegisters() {
  KernelBuilder k("warpgroup_registers");
  const BufferId a = k.In("a", DType::kF32, 4 * 128 * 4);
  const BufferId b = k.In("b", DType::kF32, 16 * 32);
  const BufferId out = k.Out("c", DType::kF32, 64 * 16);
  const BufferId tile = k.SharedMemory("tile", DType::kF32, 16 * 32);
  const BufferId rows = k.Registers("rows", DType::kF32, 4, 4);
  const BufferId sum = k.Registers("sum", DType::kF32, 4, 2);
  k.Launch(1, 128, 1, [&](ExprRef, ExprRef thread) {
    k.CopyAsync(tile, thread * 4, b, thread * 4, 4);
    k.CommitCopies();
    k.Unrolled("i", 4, [&](ExprRef i) { k.Set(rows, i, k.Load(a, (i * 128 + thread) * 4, 4)); });
    k.WaitCopies(0);
    k.FenceTiles();
    k.Barrier();
    k.WarpgroupMma(sum, Int(0), rows, Int(0), tile, Int(0), 16, false);
    k.WarpgroupMma(sum, Int(0), rows, Int(0), tile, Int(0), 16);
    k.WaitProducts(0);
    const ExprRef row = ir::FloorDiv(thread, 32) * 16 + ir::FloorDiv(ir::Mod(thread, 32), 4);
    k.Unrolled("i", 2, [&](ExprRef i) { k.Store(out, row * 16 + i * 8, k.Get(sum, i)); });
  });
  return k.Finish();
}

// A warp copies steps of a product through two stages, a warpgroup multiplies them.
ir::Kernel Roles() {
  KernelBuilder k("role_copies");
  ir::AsyncBuilder async(k);
  const BufferId a = k.In("a", DType::kBF16, 64 * 256);
  const BufferId b = k.In("b", DType::kBF16, 4 * 16 * 64);
  const BufferId out = k.Out("c", DType::kF32, 64 * 16);
  const BufferId a_tiles = k.SharedMemory("a_tiles", DType::kBF16, 2 * 64 * 64);
  const BufferId b_tiles = k.SharedMemory("b_tiles", DType::kBF16, 2 * 16 * 64);
  const BufferId full = async.Mbarriers("full", 2);
  const BufferId empty = async.Mbarriers("empty", 2);
  const BufferId sum = k.Registers("sum", DType::kF32, 4, 2);
  k.Launch(1, 160, 1, [&](ExprRef, ExprRef thread) {
    for (int stage = 0; stage < 2; ++stage) {
      async.MbarrierInit(full, Int(stage), 1);
      async.MbarrierInit(empty, Int(stage), 128);
    }
    k.AwaitInputs();
    const auto multiply = [&] {
      k.Unrolled("i", 2, [&](ExprRef i) { k.Set(sum, i, ir::Float(DType::kF32, 0, 4)); });
      k.For("round", 4, [&](ExprRef step) {
        const ExprRef stage = k.Let("stage", ir::Mod(step, 2));
        async.MbarrierWait(full, stage, ir::Mod(ir::FloorDiv(step, 2), 2));
        k.WarpgroupMma(sum, Int(0), a_tiles, stage * 4096, b_tiles, stage * 1024, 16);
        k.WaitProducts(0);
        async.MbarrierArrive(empty, stage);
      });
      const ExprRef row = ir::FloorDiv(thread, 32) * 16 + ir::FloorDiv(ir::Mod(thread, 32), 4);
      k.Unrolled("i", 2, [&](ExprRef i) { k.Store(out, row * 16 + i * 8, k.Get(sum, i)); });
    };
    const auto copy = [&] {
      async.MakeTensorMaps();
      k.If(Apply(ScalarOp::kEqual, {thread, Int(128)}), [&] {
        k.For("round", 4, [&](ExprRef step) {
          const ExprRef stage = k.Let("stage", ir::Mod(step, 2));
          async.MbarrierWait(empty, stage, ir::Mod(ir::FloorDiv(step, 2) + 1, 2));
          async.MbarrierArrive(full, stage, (64 + 16) * 128);
          async.CopyTensor(
              {a_tiles, stage * 4096, a, Int(0), step * 64, 64, 64, 256, 256, full, stage});
          async.CopyBulk({b_tiles, stage * 1024, b, step * 1024, 1024, full, stage});
        });
      });
    };
    async.RolesIf(Apply(ScalarOp::kLess, {thread, Int(128)}), multiply, copy);
  });
  return k.Finish();
}

}  // namespace

std::vector<NamedKernel> HopperKernels() {
  return {{"warpgroup_tile", WarpgroupTile()},
          {"warpgroup_registers", WarpgroupRegisters()},
          {"role_copies", Roles()}};
}

std::vector<NamedKernel> StatementKernels() {
  std::vector<NamedKernel> kernels;
  kernels.push_back({"pointwise", Pointwise()});
  kernels.push_back({"gelu_f16", NarrowGelu()});
  kernels.push_back({"row_sum", RowSum()});
  kernels.push_back({"split_sum", SplitSum()});
  kernels.push_back({"gather", Gather()});
  kernels.push_back({"window", Window()});
  kernels.push_back({"names", Names()});
  kernels.push_back({"tile_bf16", MatrixTile(DType::kBF16)});
  kernels.push_back({"tile_f16", MatrixTile(DType::kF16)});
  kernels.push_back({"tile_tf32", MatrixTile(DType::kF32)});
  for (const int bits : {4, 8}) {
    const std::string name = std::to_string(bits);
    kernels.push_back({"unpack_f16_" + name, Unpacked(DType::kF16, bits)});
    kernels.push_back({"unpack_bf16_" + name, Unpacked(DType::kBF16, bits)});
  }
  for (const DType of : {DType::kF8E4M3Fn, DType::kF8E5M2}) {
    const std::string name(ToText(of));
    kernels.push_back({"unpack_f16_" + name, Unpacked(DType::kF16, 8, of)});
    kernels.push_back({"unpack_bf16_" + name, Unpacked(DType::kBF16, 8, of)});
  }
  return kernels;
}

target::Target CudaTarget(const std::string& arch) {
  const std::string sizes = arch == "sm_80" ? " sms=108 block=166912 sm=167936 l2=41943040"
                                            : " sms=132 block=232448 sm=233472 l2=62914560";
  Result<target::Target> target = target::Target::Parse(
      "target v1 cuda arch=" + arch + sizes + " fma_gflops=0 tensor_gflops=0 copy_gbps=0");
  MLC_CHECK(target.ok()) << target.status().ToString();
  return *target;
}

}  // namespace mlc::codegen
