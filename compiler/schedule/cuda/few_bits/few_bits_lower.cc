// FewBitsLowering of the few_bits_contraction family.
#include <vector>

#include "compiler/schedule/cuda/few_bits/few_bits_pack.h"
#include "compiler/schedule/cuda/few_bits/few_bits_plan.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

class FewBitsLowering {
 public:
  FewBitsLowering(const graph::Workload& workload, const GpuContraction& g, const FewBitsPlan& plan)
      : workload_(workload),
        g_(g),
        plan_(plan),
        form_(FormOf(g)),
        b_("few_bits_contraction"),
        fused_(workload, b_, PackedOperands(workload, g)) {}

  LoweredKernel Run();

 private:
  void DeclarePrepared(std::vector<Binding>& bindings);
  void DeclareRegisters();
  void EmitBlock(const ExprRef& block, const ExprRef& thread);
  void PlaceWarp(const ExprRef& block, const ExprRef& thread);
  void ClearSums();
  void CopyRows();
  void LoadChunk(const ExprRef& chunk, int u);
  void MultiplyChunk(const ExprRef& chunk, int u);
  void MultiplyHalf(const ExprRef& half, int u, int h);
  void MultiplyAll(bool early);
  void DepositSums();
  // The chunk of this warp's step, counted from the first of the block.
  ExprRef ChunkOf(const ExprRef& step) { return step * int64_t{plan_.slices} + slice_; }
  int Halves() const { return static_cast<int>(form_.chunk() / 32); }
  // Registers of the sums: fragments take turns at two of each eight rows, which wait for nothing.
  ExprRef Sum(int row_tile, int turn) const { return Int(int64_t{row_tile} * 2 + turn); }

  const graph::Workload& workload_;
  const GpuContraction& g_;
  const FewBitsPlan& plan_;
  const FewBitsForm form_;
  ir::KernelBuilder b_;
  Fused fused_;
  ir::BufferId codes_ = 0, scales_ = 0, zeros_ = 0;  // global
  ir::BufferId rows_ = 0, sums_ = 0;                 // shared
  ir::BufferId code_ = 0, scale_ = 0, zero_ = 0;     // registers
  ir::BufferId w_ = 0, x_ = 0, c_ = 0;
  TileOutput::Place place_;
  ExprRef warp_, lane_, row_, at_, slice_, first_, count_, code_at_, scale_at_;
  std::vector<ExprRef> x_at_;  // of each eight rows
};

void FewBitsLowering::DeclarePrepared(std::vector<Binding>& bindings) {
  int prepared = 0;
  const auto declare = [&](const char* name, DType dtype, int64_t elements) {
    bindings.push_back({Binding::Kind::kPrepared, prepared++});
    return b_.In(name, dtype, elements);
  };
  codes_ = declare("codes", DType::kI32, form_.code_words());
  scales_ = declare("scales", g_.p.column_dtype, form_.scale_elements());
  if (form_.zeros) zeros_ = declare("zeros", g_.p.column_dtype, form_.scale_elements());
}

void FewBitsLowering::DeclareRegisters() {
  const DType dtype = g_.p.column_dtype;
  const int scales = plan_.unroll * plan_.scales;
  rows_ = b_.SharedMemory("rows", dtype, plan_.rows * plan_.row_elements());
  sums_ = b_.SharedMemory("sums", DType::kF32, plan_.sums());
  code_ = b_.Registers("code", DType::kI32, FewBitsForm::kWords, plan_.unroll);
  scale_ = b_.Registers("scale", dtype, 2, scales);
  zero_ = b_.Registers("zero", dtype, 2, form_.zeros ? scales : 1);
  w_ = b_.Registers("w", dtype, 8, 1);
  x_ = b_.Registers("xs", dtype, 8, plan_.row_tiles());
  c_ = b_.Registers("c", DType::kF32, 4, int64_t{plan_.row_tiles()} * 2);
}

LoweredKernel FewBitsLowering::Run() {
  std::vector<Binding> bindings = fused_.bindings();
  DeclarePrepared(bindings);
  DeclareRegisters();
  const TileOutputShape shape{static_cast<int>(plan_.rows),
                              plan_.width(),
                              plan_.pitch(),
                              plan_.slices,
                              plan_.split,
                              plan_.cluster,
                              plan_.threads(),
                              plan_.tiles,
                              DType::kF32};
  TileOutput output(workload_, g_, shape, fused_, b_);
  const auto body = [&](const ExprRef& block, const ExprRef& thread) {
    EmitBlock(block, thread);
    b_.Barrier();
    output.Store(sums_, place_);
  };
  b_.Launch(plan_.blocks(), plan_.threads(), 1, body, plan_.cluster ? plan_.split : 1);
  return {b_.Finish(), bindings, FewBitsPreparations(workload_, g_)};
}

void FewBitsLowering::PlaceWarp(const ExprRef& block, const ExprRef& thread) {
  const bool cluster = plan_.cluster;
  const ExprRef tile =
      b_.Let("tile", cluster ? ir::FloorDiv(block, plan_.split) : ir::Mod(block, plan_.tiles));
  place_ = {
      thread,
      tile,
      Int(0),
      b_.Let("n_first", tile * int64_t{plan_.width()}),
      b_.Let("k_part", cluster ? ir::Mod(block, plan_.split) : ir::FloorDiv(block, plan_.tiles)),
      PlaceBatch(b_, g_, Int(0))};
  warp_ = b_.Let("warp", ir::FloorDiv(thread, 32));
  lane_ = b_.Let("lane", ir::Mod(thread, 32));
  row_ = b_.Let("lane_row", ir::FloorDiv(lane_, 4));
  at_ = b_.Let("lane_at", ir::Mod(lane_, 4));
  slice_ = b_.Let("slice", ir::Mod(warp_, plan_.slices));
  first_ = b_.Let("first_chunk", place_.part * plan_.split_chunks);
  ExprRef chunks = Int(plan_.split_chunks);
  if (plan_.last_chunks != plan_.split_chunks) {
    chunks = b_.Let("chunks", ir::Min(chunks, Int(form_.chunks) - first_));
  }
  count_ = b_.Let("steps", ir::FloorDiv(chunks - slice_ + int64_t{plan_.slices - 1}, plan_.slices));
  // A warp past the last columns repeats them, and its sums are not stored.
  ExprRef group = tile * int64_t{plan_.groups()} + ir::FloorDiv(warp_, plan_.slices);
  if (plan_.tiles * plan_.groups() > form_.tiles) group = ir::Min(group, Int(form_.tiles - 1));
  const ExprRef columns = b_.Let("columns", group);
  code_at_ = b_.Let("code_at", (columns * form_.chunks + first_) * FewBitsForm::kChunkWords +
                                   lane_ * FewBitsForm::kWords);
  scale_at_ = b_.Let("scale_at", columns * (form_.blocks * FewBitsForm::kColumns) + row_ * 2);
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    const ExprRef m = plan_.rows >= 8 * (i + 1)
                          ? row_ + int64_t{8} * i
                          : ir::Min(row_ + int64_t{8} * i, Int(plan_.rows - 1));
    x_at_.push_back(b_.Let("x_at", m * 32 + at_ * 8));
  }
}

void FewBitsLowering::ClearSums() {
  for (int i = 0; i < 2 * plan_.row_tiles(); ++i) {
    b_.Set(c_, Int(i), ir::Float(DType::kF32, 0, 4));
  }
  if (form_.zeros) return;
  const auto zero = static_cast<double>(form_.zero + form_.bias);
  b_.Set(zero_, Int(0), ir::Float(g_.p.column_dtype, zero, 2));
}

// All threads bring this block's part of the rows to shared memory, zeros past the end:
// [k / 32][row][k % 32].
void FewBitsLowering::CopyRows() {
  int lanes = ContiguousAlongK(g_, Side::kRow, 8);
  while (g_.k % lanes != 0) lanes /= 2;
  const int64_t pieces = plan_.row_elements() / lanes;
  const ir::BufferId source = fused_.OperandBuffer(g_.p.row_operand);
  const ExprRef first_k = b_.Let("first_k", first_ * form_.chunk());
  const bool ragged = plan_.split * plan_.row_elements() != g_.k;
  for (int64_t m = 0; m < plan_.rows; ++m) {
    const CrossPlace row = PlaceCross(b_, g_, Side::kRow, Int(m));
    b_.For("copy", CeilDiv(pieces, int64_t{plan_.threads()}), [&](const ExprRef& i) {
      const ExprRef piece = b_.Let("piece", i * int64_t{plan_.threads()} + place_.thread);
      const ExprRef k_in = lanes == 1 ? piece : b_.Let("k_in", piece * int64_t{lanes});
      const ExprRef k = b_.Let("k", first_k + k_in);
      const auto copy = [&] {
        const ExprRef to = plan_.rows == 1 ? k_in
                                           : ir::FloorDiv(k_in, 32) * (32 * plan_.rows) +
                                                 ir::Mod(k_in, 32) + m * 32;
        b_.Store(rows_, to,
                 b_.Load(source, row.offset + k * g_.p.row_k_stride, lanes, 1,
                         ragged ? LanesIf(Less(k, g_.k), lanes) : nullptr));
      };
      if (pieces % plan_.threads() == 0) {
        copy();
      } else {
        b_.If(Less(piece, pieces), copy);
      }
    });
  }
}

void FewBitsLowering::LoadChunk(const ExprRef& chunk, int u) {
  b_.Set(code_, Int(u),
         b_.Load(codes_, code_at_ + chunk * FewBitsForm::kChunkWords, FewBitsForm::kWords));
  const ExprRef k = b_.Let("chunk_k", (first_ + chunk) * form_.chunk());
  for (int i = 0; i < plan_.scales; ++i) {
    ExprRef from = k + int64_t{32} * i;
    // Of blocks that end within 32 k, those of a thread's 8.
    if (form_.block % 32 != 0) from = from + at_ * 8;
    const ExprRef at =
        b_.Let("block_at", scale_at_ + ir::FloorDiv(from, form_.block) * FewBitsForm::kColumns);
    const ExprRef to = Int(int64_t{u} * plan_.scales + i);
    b_.Set(scale_, to, b_.Load(scales_, at, 2));
    if (form_.zeros) b_.Set(zero_, to, b_.Load(zeros_, at, 2));
  }
}

// Two fragments: 32 k.
void FewBitsLowering::MultiplyHalf(const ExprRef& half, int u, int h) {
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    b_.Set(x_, Int(i), b_.Load(rows_, half * (32 * plan_.rows) + x_at_[static_cast<size_t>(i)], 8));
  }
  const ExprRef scale = Int(int64_t{u} * plan_.scales + (plan_.scales == 1 ? 0 : h));
  for (int turn = 0; turn < 2; ++turn) {
    b_.Unpack({w_, Int(0), code_, Int(u), zero_, form_.zeros ? scale : Int(0), scale_, scale,
               form_.bits, 2 * h + turn, form_.bias});
    for (int i = 0; i < plan_.row_tiles(); ++i) {
      b_.Mma(c_, Sum(i, turn), w_, Int(0), x_, Int(i), turn);
    }
  }
}

void FewBitsLowering::MultiplyChunk(const ExprRef& chunk, int u) {
  const ExprRef half = b_.Let("half", chunk * int64_t{Halves()});
  for (int h = 0; h < Halves(); ++h) MultiplyHalf(half + int64_t{h}, u, h);
}

// The first chunks have been loaded if `early`.
void FewBitsLowering::MultiplyAll(bool early) {
  const auto group = [&](const ExprRef& first, bool loads) {
    std::vector<ExprRef> chunks;
    for (int u = 0; u < plan_.unroll; ++u) {
      chunks.push_back(b_.Let("chunk", ChunkOf(first + int64_t{u})));
      if (loads) LoadChunk(chunks.back(), u);
    }
    for (int u = 0; u < plan_.unroll; ++u) MultiplyChunk(chunks[static_cast<size_t>(u)], u);
  };
  if (early) group(Int(0), false);
  const ExprRef bulk = b_.Let("bulk", ir::FloorDiv(count_, plan_.unroll));
  b_.For("group", Int(early ? 1 : 0), bulk, 1,
         [&](const ExprRef& i) { group(b_.Let("group_step", i * int64_t{plan_.unroll}), true); });
  if (plan_.unroll == 1) return;
  b_.For("rest_step", bulk * int64_t{plan_.unroll}, count_, 1, [&](const ExprRef& step) {
    const ExprRef chunk = b_.Let("chunk", ChunkOf(step));
    LoadChunk(chunk, 0);
    MultiplyChunk(chunk, 0);
  });
}

// A thread has columns row_ and row_ + 8 of rows 2 * at_ and 2 * at_ + 1 of eight.
void FewBitsLowering::DepositSums() {
  const ExprRef first =
      b_.Let("sums_at", slice_ * (plan_.rows * plan_.pitch()) +
                            ir::FloorDiv(warp_, plan_.slices) * FewBitsForm::kColumns + row_);
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    b_.Set(c_, Sum(i, 0),
           ir::MakeApply(ScalarOp::kAdd, {b_.Get(c_, Sum(i, 0)), b_.Get(c_, Sum(i, 1))}));
    for (int odd = 0; odd < 2; ++odd) {
      const ExprRef m = b_.Let("sum_row", at_ * 2 + int64_t{8 * i + odd});
      b_.If(Less(m, plan_.rows), [&] {
        for (int half = 0; half < 2; ++half) {
          b_.Store(sums_, first + m * int64_t{plan_.pitch()} + int64_t{8 * half},
                   LaneOf(b_.Get(c_, Sum(i, 0)), 2 * half + odd));
        }
      });
    }
  }
}

void FewBitsLowering::EmitBlock(const ExprRef& block, const ExprRef& thread) {
  b_.ReleaseDependents();
  PlaceWarp(block, thread);
  ClearSums();
  // Columns are constant: the first loads need not wait for the launches before this one.
  const bool early = plan_.last_chunks / plan_.slices >= plan_.unroll;
  if (early) {
    for (int u = 0; u < plan_.unroll; ++u) {
      LoadChunk(b_.Let("early_chunk", ChunkOf(Int(u))), u);
    }
  }
  b_.AwaitInputs();
  CopyRows();
  b_.Barrier();
  MultiplyAll(early);
  DepositSums();
}

}  // namespace

Result<LoweredKernel> LowerFewBits(const graph::Workload& workload, const GpuContraction& g,
                                   const FewBitsPlan& plan) {
  return FewBitsLowering(workload, g, plan).Run();
}

}  // namespace mlc::schedule
