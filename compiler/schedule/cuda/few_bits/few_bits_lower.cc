// FewBitsLowering of the few_bits_contraction family.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "compiler/schedule/cuda/few_bits/few_bits_pack.h"
#include "compiler/schedule/cuda/few_bits/few_bits_plan.h"
#include "compiler/schedule/cuda/tile/gpu_normed_rows.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/cuda/tile/gpu_turns.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

// Pieces of a row that a thread reads before it stores the first.
constexpr int64_t kCopiesAtOnce = 4;

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
  void EmitBlock(const ExprRef& block, const ExprRef& thread, TileOutput& output);
  void EmitTurns(TileOutput& output);
  void PlaceWarp(const ExprRef& block, const ExprRef& thread);
  void PlaceTile(const ExprRef& tile);
  void LoadFirst();
  void ClearSums();
  void CopyRows();
  void NormRows();
  ExprRef RowAt(int64_t m, const ExprRef& k_in) const;
  void LoadChunk(const ExprRef& chunk, int u);
  void MultiplyChunk(const ExprRef& chunk, int u);
  void MultiplyHalf(const ExprRef& half, int u, int h);
  void ForGroup(const ExprRef& first, int64_t sure,
                const std::function<void(const ExprRef& chunk, int u)>& body);
  void MultiplyAll();
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
  std::optional<NormedRows> normed_;
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
  codes_ = declare("codes", form_.codes, form_.code_elements());
  scales_ = declare("scales", g_.p.column_dtype, form_.scale_elements());
  if (form_.zeros) zeros_ = declare("zeros", g_.p.column_dtype, form_.scale_elements());
}

void FewBitsLowering::DeclareRegisters() {
  const DType dtype = g_.p.column_dtype;
  const int scales = plan_.unroll * plan_.scales;
  rows_ = b_.SharedMemory("rows", dtype, plan_.rows * plan_.row_elements());
  sums_ = b_.SharedMemory("sums", DType::kF32, plan_.sums());
  code_ = b_.Registers("code", form_.codes, form_.lanes(), plan_.unroll);
  scale_ = b_.Registers("scale", dtype, 2, scales);
  zero_ = b_.Registers("zero", dtype, 2, form_.zeros ? scales : 1);
  w_ = b_.Registers("w", dtype, 8, 1);
  x_ = b_.Registers("xs", dtype, 8, plan_.row_tiles());
  c_ = b_.Registers("c", DType::kF32, 4, int64_t{plan_.row_tiles()} * 2);
  if (g_.p.norm != graph::kNoValue) normed_.emplace(workload_, g_, plan_.threads(), fused_, b_);
}

LoweredKernel FewBitsLowering::Run() {
  std::vector<Binding> bindings = fused_.bindings();
  DeclarePrepared(bindings);
  DeclareRegisters();
  const TileOutputShape shape{static_cast<int>(plan_.rows),
                              plan_.outputs(),
                              plan_.pitch(),
                              plan_.slices,
                              plan_.split,
                              plan_.cluster,
                              plan_.threads(),
                              plan_.tiles,
                              DType::kF32,
                              plan_.ends};
  TileOutput output(workload_, g_, shape, fused_, b_);
  const auto body = [&](const ExprRef& block, const ExprRef& thread) {
    EmitBlock(block, thread, output);
  };
  b_.Launch(plan_.blocks(), plan_.threads(), 1, body, plan_.cluster ? plan_.split : 1);
  return {b_.Finish(), bindings, FewBitsPreparations(workload_, g_)};
}

void FewBitsLowering::PlaceWarp(const ExprRef& block, const ExprRef& thread) {
  place_.thread = thread;
  place_.m = Int(0);
  place_.batch = PlaceBatch(b_, g_, Int(0));
  place_.part = Int(0);
  if (plan_.split > 1) {
    place_.part = b_.Let(
        "k_part", plan_.cluster ? ir::Mod(block, plan_.split) : ir::FloorDiv(block, plan_.tiles));
  }
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
  count_ = Int(plan_.steps());
  if (plan_.least_steps() != plan_.steps()) {
    count_ =
        b_.Let("steps", ir::FloorDiv(chunks - slice_ + int64_t{plan_.slices - 1}, plan_.slices));
  }
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    const ExprRef m = plan_.rows >= 8 * (i + 1)
                          ? row_ + int64_t{8} * i
                          : ir::Min(row_ + int64_t{8} * i, Int(plan_.rows - 1));
    x_at_.push_back(b_.Let("x_at", m * 32 + at_ * 8));
  }
}

void FewBitsLowering::PlaceTile(const ExprRef& tile) {
  place_.tile = tile;
  place_.n = b_.Let("n_first", tile * int64_t{plan_.outputs()});
  // A warp past the last columns repeats them, and its sums are not stored.
  ExprRef group = tile * int64_t{plan_.groups()} + ir::FloorDiv(warp_, plan_.slices);
  if (plan_.tiles * plan_.groups() > form_.tiles) group = ir::Min(group, Int(form_.tiles - 1));
  const ExprRef columns = b_.Let("columns", group);
  code_at_ = b_.Let("code_at", (columns * form_.chunks + first_) * form_.chunk_lanes() +
                                   lane_ * int64_t{form_.lanes()});
  scale_at_ = b_.Let("scale_at", columns * (form_.blocks * FewBitsForm::kColumns) + row_ * 2);
}

void FewBitsLowering::ClearSums() {
  for (int i = 0; i < 2 * plan_.row_tiles(); ++i) {
    b_.Set(c_, Int(i), ir::Float(DType::kF32, 0, 4));
  }
  if (form_.zeros || form_.is_float8()) return;
  const auto zero = static_cast<double>(form_.zero + form_.bias);
  b_.Set(zero_, Int(0), ir::Float(g_.p.column_dtype, zero, 2));
}

// Where k of this block's part is in row m in shared memory: [k / 32][row][k % 32].
ExprRef FewBitsLowering::RowAt(int64_t m, const ExprRef& k_in) const {
  if (plan_.rows == 1) return k_in;
  return ir::FloorDiv(k_in, 32) * (32 * plan_.rows) + ir::Mod(k_in, 32) + m * 32;
}

// All threads compute the rows, and store this block's part of them, zeros past the end.
void FewBitsLowering::NormRows() {
  const int64_t length = plan_.row_elements();
  const ExprRef first_k = b_.Let("first_k", first_ * form_.chunk());
  normed_->ForPieces(
      place_.thread, plan_.split * length, [&](int64_t m, const ExprRef& k, const ExprRef& value) {
        const ExprRef narrow = ir::MakeCast(g_.p.row_dtype, value);
        if (plan_.split == 1) return b_.Store(rows_, RowAt(m, k), narrow);
        const ExprRef k_in = b_.Let("k_in", k - first_k);
        b_.If(And(ir::MakeApply(ScalarOp::kLessEqual, {Int(0), k_in}), Less(k_in, length)),
              [&] { b_.Store(rows_, RowAt(m, k_in), narrow); });
      });
}

// All threads bring this block's part of the rows to shared memory, zeros past the end.
void FewBitsLowering::CopyRows() {
  if (normed_) return NormRows();
  int lanes = ContiguousAlongK(g_, Side::kRow, 8);
  while (g_.k % lanes != 0) lanes /= 2;
  const int64_t pieces = plan_.row_elements() / lanes;
  const ir::BufferId source = fused_.OperandBuffer(g_.p.row_operand);
  const ExprRef first_k = b_.Let("first_k", first_ * form_.chunk());
  const bool ragged = plan_.split * plan_.row_elements() != g_.k;
  const int64_t count = CeilDiv(pieces, int64_t{plan_.threads()});
  const int64_t at_once = std::min<int64_t>(count, kCopiesAtOnce);
  const ir::BufferId copied = b_.Registers("copied", g_.p.row_dtype, lanes, at_once);
  for (int64_t m = 0; m < plan_.rows; ++m) {
    const CrossPlace row = PlaceCross(b_, g_, Side::kRow, Int(m));
    const auto visit = [&](const ExprRef& first, const auto& body) {
      for (int64_t i = 0; i < at_once; ++i) {
        const ExprRef piece = b_.Let("piece", (first + i) * plan_.threads() + place_.thread);
        const auto one = [&] {
          body(Int(i), lanes == 1 ? piece : b_.Let("k_in", piece * int64_t{lanes}));
        };
        if (count % at_once == 0 && pieces % plan_.threads() == 0) {
          one();
        } else {
          b_.If(Less(piece, pieces), one);
        }
      }
    };
    // Pieces are under way together.
    b_.For("copy", CeilDiv(count, at_once), [&](const ExprRef& i) {
      const ExprRef first = b_.Let("first_piece", i * at_once);
      visit(first, [&](const ExprRef& to, const ExprRef& k_in) {
        const ExprRef k = b_.Let("k", first_k + k_in);
        b_.Set(copied, to,
               b_.Load(source, row.offset + k * g_.p.row_k_stride, lanes, 1,
                       ragged ? LanesIf(Less(k, g_.k), lanes) : nullptr));
      });
      visit(first, [&](const ExprRef& from, const ExprRef& k_in) {
        b_.Store(rows_, RowAt(m, k_in), b_.Get(copied, from));
      });
    });
  }
}

void FewBitsLowering::LoadChunk(const ExprRef& chunk, int u) {
  b_.Set(code_, Int(u), b_.Load(codes_, code_at_ + chunk * form_.chunk_lanes(), form_.lanes()));
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

// Calls body for the chunks of a group that the warp has; the first `sure` exist in any case.
void FewBitsLowering::ForGroup(const ExprRef& first, int64_t sure,
                               const std::function<void(const ExprRef& chunk, int u)>& body) {
  for (int u = 0; u < plan_.unroll; ++u) {
    const ExprRef step = first + int64_t{u};
    const auto one = [&] { body(b_.Let("chunk", ChunkOf(step)), u); };
    if (u < sure) {
      one();
    } else {
      b_.If(ir::MakeApply(ScalarOp::kLess, {step, count_}), one);
    }
  }
}

// The first group has been loaded. Loads of a group are under way before one of it is multiplied.
void FewBitsLowering::MultiplyAll() {
  ClearSums();
  const auto load = [&](const ExprRef& chunk, int u) { LoadChunk(chunk, u); };
  const auto multiply = [&](const ExprRef& chunk, int u) { MultiplyChunk(chunk, u); };
  ForGroup(Int(0), plan_.least_steps(), multiply);
  if (plan_.steps() <= plan_.unroll) return;
  const auto group = [&](const ExprRef& first, int64_t sure) {
    ForGroup(first, sure, load);
    ForGroup(first, sure, multiply);
  };
  const ExprRef bulk = b_.Let("bulk", ir::FloorDiv(count_, plan_.unroll));
  b_.For("group", Int(1), bulk, 1, [&](const ExprRef& i) {
    group(b_.Let("group_step", i * int64_t{plan_.unroll}), plan_.unroll);
  });
  if (plan_.steps() % plan_.unroll == 0 && plan_.least_steps() == plan_.steps()) return;
  group(b_.Let("rest_step", ir::Max(bulk, Int(1)) * int64_t{plan_.unroll}), 0);
}

// A thread has columns row_ and row_ + 8 of rows 2 * at_ and 2 * at_ + 1 of eight.
void FewBitsLowering::DepositSums() {
  ExprRef column = ir::FloorDiv(warp_, plan_.slices) * FewBitsForm::kColumns;
  if (plan_.ends > 1) {
    const ExprRef group = b_.Let("group_in", ir::FloorDiv(warp_, plan_.slices));
    column = ir::FloorDiv(group, plan_.ends) * FewBitsForm::kColumns +
             ir::Mod(group, plan_.ends) * int64_t{plan_.outputs()};
  }
  const ExprRef first = b_.Let("sums_at", slice_ * (plan_.rows * plan_.pitch()) + column + row_);
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

void FewBitsLowering::LoadFirst() {
  ForGroup(Int(0), plan_.least_steps(), [&](const ExprRef& chunk, int u) { LoadChunk(chunk, u); });
}

void FewBitsLowering::EmitBlock(const ExprRef& block, const ExprRef& thread, TileOutput& output) {
  b_.ReleaseDependents();
  PlaceWarp(block, thread);
  PlaceTile(b_.Let("tile", plan_.cluster ? ir::FloorDiv(block, plan_.split)
                                         : ir::Mod(block, plan_.grid_tiles())));
  // Columns are constant: the first loads need not wait for the launches before this one.
  LoadFirst();
  if (normed_) normed_->Preload(thread);
  b_.AwaitInputs();
  CopyRows();
  b_.Barrier();
  if (plan_.turns > 1) return EmitTurns(output);
  MultiplyAll();
  DepositSums();
  b_.Barrier();
  output.Store(sums_, place_);
}

// A block's tiles: the first loads of the next are under way while one is stored.
void FewBitsLowering::EmitTurns(TileOutput& output) {
  const int64_t grid = plan_.grid_tiles();
  ForTurns(b_, place_.tile, plan_.tiles, grid, [&](const ExprRef& tile, const ExprRef& more) {
    PlaceTile(tile);
    const TileOutput::Place place = place_;
    MultiplyAll();
    b_.If(more, [&] {
      PlaceTile(b_.Let("next_tile", tile + grid));
      LoadFirst();
    });
    DepositSums();
    b_.Barrier();
    output.Store(sums_, place);
  });
}

}  // namespace

Result<LoweredKernel> LowerFewBits(const graph::Workload& workload, const GpuContraction& g,
                                   const FewBitsPlan& plan) {
  return FewBitsLowering(workload, g, plan).Run();
}

}  // namespace mlc::schedule
