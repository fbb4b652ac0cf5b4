// SkinnyLowering of the skinny_contraction family.
#include <algorithm>
#include <optional>

#include "base/ceil_div.h"
#include "compiler/schedule/cuda/skinny/skinny_plan.h"
#include "compiler/schedule/cuda/tile/gpu_normed_rows.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/cuda/tile/gpu_turns.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

// [tile][warp][k step][column][lane of the warp][element of a load]; of two ends, columns take
// turns
int64_t PackedElements(const SkinnyPlan& plan) {
  return plan.tiles * plan.width() * plan.steps * plan.step();
}

Preparation Pack(const graph::Workload& workload, const GpuContraction& g, const SkinnyPlan& plan) {
  ir::KernelBuilder b("skinny_pack");
  const graph::TensorType& type =
      workload.graph()[workload.operands()[static_cast<size_t>(g.p.column_operand)]].type;
  const DType dtype = g.p.column_dtype;
  const int64_t elements = PackedElements(plan);
  const ir::BufferId source = b.In("w", type.dtype, type.Extent());
  const ir::BufferId packed = b.Out("packed", dtype, elements);
  b.Parallel("pp", plan.tiles * plan.warps * plan.steps, [&](const ExprRef& panel) {
    const ExprRef first_k = b.Let("first_k", ir::Mod(panel, plan.steps) * plan.step());
    const ExprRef first_n = b.Let("first_n", ir::FloorDiv(panel, plan.steps) * plan.columns);
    b.For("column", plan.columns, [&](const ExprRef& column) {
      const ExprRef line = first_n + column;
      const ExprRef n = b.Let("n", plan.ends == 1 ? line : ir::FloorDiv(line, plan.ends));
      ExprRef stored = ir::Min(n, Int(g.n - 1));
      if (plan.ends > 1) stored = stored + ir::Mod(line, plan.ends) * g.n;
      const ExprRef from = b.Let("from", stored * g.p.column_stride);
      const ExprRef to = b.Let("to", (panel * plan.columns + column) * plan.step());
      b.For("k_in", plan.step(), [&](const ExprRef& k_in) {
        const ExprRef k = first_k + k_in;
        ExprRef value = b.Load(source, from + ir::Min(k, Int(g.k - 1)) * g.p.column_k_stride);
        const ExprRef inside = And(Less(k, g.k), Less(n, g.n));
        value = ir::MakeApply(ScalarOp::kSelect, {inside, ir::MakeCast(DType::kF32, value),
                                                  ir::Float(DType::kF32, 0)});
        b.Store(packed, to + k_in, ir::MakeCast(dtype, value));
      });
    });
  });
  return {b.Finish(), {g.p.column_operand}, dtype, elements};
}

class SkinnyLowering {
 public:
  SkinnyLowering(const graph::Workload& workload, const GpuContraction& g, const SkinnyPlan& plan)
      : workload_(workload),
        g_(g),
        plan_(plan),
        b_("skinny_contraction"),
        fused_(workload, b_, PackedOperands(workload, g)) {}

  LoweredKernel Run();

 private:
  void EmitBlock(const ExprRef& block, const ExprRef& thread, TileOutput& output);
  void EmitTurns(TileOutput& output);
  void PlaceBlock(const ExprRef& block, const ExprRef& thread);
  void PlaceTile(const ExprRef& tile);
  ExprRef PanelOf(const ExprRef& tile);
  void MultiplyAll(const ExprRef& next_panel = nullptr, const ExprRef& more = nullptr);
  // Whether every block has a whole group of steps.
  bool IsEarly() const {
    return plan_.steps - (plan_.split - 1) * plan_.split_steps >= plan_.unroll;
  }
  void CopyRows();
  void NormRows();
  void LoadColumns(const ExprRef& step, int count);
  void LoadFirst();
  // Through shared memory: the copies of a step begin `ahead` steps before it is multiplied.
  bool IsWhole() const { return plan_.stages == plan_.split_steps && plan_.turns == 1; }
  int Ahead() const { return IsWhole() ? plan_.stages : plan_.stages - 1; }
  ExprRef SlotAt(const ExprRef& step) const;
  void CopyColumns(const ExprRef& panel, const ExprRef& step, const ExprRef& slot);
  void MultiplyStages(const ExprRef& next_panel, const ExprRef& more);
  void Multiply(const ExprRef& step, int count);
  void DepositSums();
  int64_t Sum(int row, int column) const { return row * int64_t{plan_.columns} + column; }

  const graph::Workload& workload_;
  const GpuContraction& g_;
  const SkinnyPlan& plan_;
  ir::KernelBuilder b_;
  Fused fused_;
  ir::BufferId packed_ = 0, rows_ = 0, sums_ = 0, w_ = 0, x_ = 0, c_ = 0, ring_ = 0;
  std::optional<NormedRows> normed_;
  TileOutput::Place place_;
  ExprRef warp_, lane_, panel_, first_, count_;
};

LoweredKernel SkinnyLowering::Run() {
  std::vector<Binding> bindings = fused_.bindings();
  packed_ = b_.In("packed", g_.p.column_dtype, PackedElements(plan_));
  bindings.push_back({Binding::Kind::kPrepared, 0});
  const auto m = static_cast<int>(g_.m);
  rows_ = b_.SharedMemory("rows", DType::kF32, g_.m * plan_.row_elements());
  sums_ = b_.SharedMemory("sums", DType::kF32, g_.m * (plan_.width() + 8));
  if (plan_.stages > 0) {
    ring_ = b_.SharedMemory("ring", g_.p.column_dtype, plan_.ring_elements());
  }
  w_ = b_.Registers("w", g_.p.column_dtype, plan_.lanes, plan_.unroll * plan_.columns);
  x_ = b_.Registers("xs", DType::kF32, plan_.lanes, 1);
  c_ = b_.Registers("c", DType::kF32, 1, m * plan_.columns);
  if (g_.p.norm != graph::kNoValue) normed_.emplace(workload_, g_, plan_.threads(), fused_, b_);
  const TileOutputShape shape{m,           plan_.outputs(), plan_.width() + 8, 1,
                              plan_.split, plan_.cluster,   plan_.threads(),   plan_.tiles,
                              DType::kF32, plan_.ends};
  TileOutput output(workload_, g_, shape, fused_, b_);
  const auto body = [&](const ExprRef& block, const ExprRef& thread) {
    EmitBlock(block, thread, output);
  };
  b_.Launch(plan_.blocks(), plan_.threads(), 1, body, plan_.cluster ? plan_.split : 1);
  LoweredKernel lowered{b_.Finish(), bindings, {}};
  lowered.preparations.push_back(Pack(workload_, g_, plan_));
  return lowered;
}

// All threads compute the rows, and store this block's part of them, zeros past the end.
void SkinnyLowering::NormRows() {
  const int64_t length = plan_.row_elements();
  const ExprRef first_k = b_.Let("first_k", first_ * plan_.step());
  normed_->ForPieces(
      place_.thread, plan_.split * length, [&](int64_t m, const ExprRef& k, const ExprRef& value) {
        const ExprRef rounded = ir::MakeCast(DType::kF32, CastTo(g_.p.row_dtype, value));
        if (plan_.split == 1) return b_.Store(rows_, k + m * length, rounded);
        const ExprRef k_in = b_.Let("k_in", k - first_k);
        b_.If(And(ir::MakeApply(ScalarOp::kLessEqual, {Int(0), k_in}), Less(k_in, length)),
              [&] { b_.Store(rows_, k_in + m * length, rounded); });
      });
}

// All threads bring this block's part of the rows to shared memory, zeros past the end.
void SkinnyLowering::CopyRows() {
  if (normed_) return NormRows();
  const int64_t length = plan_.row_elements();
  // A block reads its rows before its columns: in pieces of 16 bytes where memory allows.
  int lanes = ContiguousAlongK(g_, Side::kRow, static_cast<int>(16 / SizeOf(g_.p.row_dtype)));
  while (g_.k % lanes != 0) lanes /= 2;
  const int64_t pieces = length / lanes;
  const ir::BufferId source = fused_.OperandBuffer(g_.p.row_operand);
  const ExprRef first_k = b_.Let("first_k", first_ * plan_.step());
  const bool ragged = plan_.split * plan_.row_elements() != g_.k;
  for (int64_t m = 0; m < g_.m; ++m) {
    const CrossPlace row = PlaceCross(b_, g_, Side::kRow, Int(m));
    b_.For("at", CeilDiv(pieces, int64_t{plan_.threads()}), [&](const ExprRef& i) {
      const ExprRef piece = b_.Let("piece", i * int64_t{plan_.threads()} + place_.thread);
      const ExprRef k_in = lanes == 1 ? piece : b_.Let("k_in", piece * int64_t{lanes});
      const ExprRef k = b_.Let("k", first_k + k_in);
      const auto copy = [&] {
        const ExprRef value = b_.Load(source, row.offset + k * g_.p.row_k_stride, lanes, 1,
                                      ragged ? LanesIf(Less(k, g_.k), lanes) : nullptr);
        b_.Store(rows_, k_in + m * length, ir::MakeCast(DType::kF32, value));
      };
      if (pieces % plan_.threads() == 0) {
        copy();
      } else {
        b_.If(Less(piece, pieces), copy);
      }
    });
  }
}

void SkinnyLowering::LoadColumns(const ExprRef& step, int count) {
  const int64_t size = plan_.step();
  const ExprRef at = b_.Let("column_at", panel_ + step * (plan_.columns * size));
  for (int u = 0; u < count; ++u) {
    for (int j = 0; j < plan_.columns; ++j) {
      const int64_t index = int64_t{u} * plan_.columns + j;
      b_.Set(w_, Int(index), b_.Load(packed_, at + index * size, plan_.lanes));
    }
  }
}

// The first loads of a tile, which need not wait for the launches before this one.
void SkinnyLowering::LoadFirst() {
  if (plan_.stages == 0) {
    if (IsEarly()) LoadColumns(Int(0), plan_.unroll);
    return;
  }
  for (int i = 0; i < Ahead(); ++i) {
    CopyColumns(panel_, Int(i), Int(i));
    b_.CommitCopies();
  }
}

ExprRef SkinnyLowering::SlotAt(const ExprRef& step) const {
  return ir::Mod(step, int64_t{plan_.stages});
}

// Each lane copies what it multiplies itself, so no barrier is between.
void SkinnyLowering::CopyColumns(const ExprRef& panel, const ExprRef& step, const ExprRef& slot) {
  const ExprRef to =
      b_.Let("slot_at", (warp_ * int64_t{plan_.stages} + slot) * plan_.stage_elements() +
                            lane_ * int64_t{plan_.lanes});
  const ExprRef from = b_.Let("column_at", panel + step * plan_.stage_elements());
  for (int j = 0; j < plan_.columns; ++j) {
    b_.CopyAsync(ring_, to + j * plan_.step(), packed_, from + j * plan_.step(), plan_.lanes);
  }
}

// The first copies have begun. `more`: whether those of `next_panel` follow; null: they do not.
void SkinnyLowering::MultiplyStages(const ExprRef& next_panel, const ExprRef& more) {
  const int64_t steps = plan_.split_steps;
  const int64_t ahead = Ahead();
  const auto one = [&](const ExprRef& step, int pending) {
    b_.WaitCopies(pending);
    const ExprRef at =
        b_.Let("stage_at", (warp_ * int64_t{plan_.stages} + SlotAt(step)) * plan_.stage_elements() +
                               lane_ * int64_t{plan_.lanes});
    for (int j = 0; j < plan_.columns; ++j) {
      b_.Set(w_, Int(j), b_.Load(ring_, at + j * plan_.step(), plan_.lanes));
    }
  };
  if (IsWhole()) {
    for (int i = 0; i < steps; ++i) {
      one(Int(i), static_cast<int>(steps) - 1 - i);
      Multiply(Int(i), 1);
    }
    return;
  }
  const int pending = plan_.stages - 2;
  b_.For("k_step", steps - ahead, [&](const ExprRef& step) {
    one(step, pending);
    const ExprRef next = b_.Let("next", step + ahead);
    CopyColumns(panel_, next, SlotAt(next));
    b_.CommitCopies();
    Multiply(step, 1);
  });
  b_.For("last_step", Int(steps - ahead), Int(steps), 1, [&](const ExprRef& step) {
    one(step, pending);
    if (more) {
      b_.If(more, [&] {
        const ExprRef next = b_.Let("next", step + (ahead - steps));
        CopyColumns(next_panel, next, SlotAt(step + ahead));
      });
    }
    b_.CommitCopies();
    Multiply(step, 1);
  });
}

void SkinnyLowering::Multiply(const ExprRef& step, int count) {
  const ExprRef at = b_.Let("row_at", step * plan_.step() + lane_ * int64_t{plan_.lanes});
  for (int u = 0; u < count; ++u) {
    for (int m = 0; m < static_cast<int>(g_.m); ++m) {
      b_.Set(x_, Int(0),
             b_.Load(rows_, at + (u * plan_.step() + m * plan_.row_elements()), plan_.lanes));
      for (int j = 0; j < plan_.columns; ++j) {
        const ExprRef w =
            ir::MakeCast(DType::kF32, b_.Get(w_, Int(int64_t{u} * plan_.columns + j)));
        const ExprRef product =
            ir::MakeReduce(ScalarOp::kAdd, ir::MakeApply(ScalarOp::kMul, {w, b_.Get(x_, Int(0))}));
        const ExprRef c = Int(Sum(m, j));
        b_.Set(c_, c, ir::MakeApply(ScalarOp::kAdd, {b_.Get(c_, c), product}));
      }
    }
  }
}

void SkinnyLowering::DepositSums() {
  const int sums = static_cast<int>(g_.m) * plan_.columns;
  for (int distance = 16; distance >= 1; distance /= 2) {
    for (int i = 0; i < sums; ++i) {
      const ExprRef c = b_.Get(c_, Int(i));
      b_.Set(c_, Int(i), ir::MakeApply(ScalarOp::kAdd, {c, ir::MakeShuffleXor(c, distance)}));
    }
  }
  b_.If(ir::MakeApply(ScalarOp::kEqual, {lane_, Int(0)}), [&] {
    for (int m = 0; m < static_cast<int>(g_.m); ++m) {
      for (int j = 0; j < plan_.columns; ++j) {
        const int64_t at =
            m * (plan_.width() + 8) + j / plan_.ends + j % plan_.ends * int64_t{plan_.outputs()};
        b_.Store(sums_, warp_ * int64_t{plan_.columns / plan_.ends} + at,
                 b_.Get(c_, Int(Sum(m, j))));
      }
    }
  });
}

void SkinnyLowering::PlaceBlock(const ExprRef& block, const ExprRef& thread) {
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
  first_ = b_.Let("first_step", place_.part * plan_.split_steps);
  count_ = Int(plan_.split_steps);
  if (plan_.steps % plan_.split_steps != 0) {
    count_ = b_.Let("steps", ir::Min(Int(plan_.split_steps), Int(plan_.steps) - first_));
  }
}

void SkinnyLowering::PlaceTile(const ExprRef& tile) {
  place_.tile = tile;
  place_.n = b_.Let("n_first", tile * int64_t{plan_.outputs()});
  panel_ = PanelOf(tile);
}

// Where the lane's first load of the tile is.
ExprRef SkinnyLowering::PanelOf(const ExprRef& tile) {
  return b_.Let("panel", ((tile * int64_t{plan_.warps} + warp_) * plan_.steps + first_) *
                                 plan_.stage_elements() +
                             lane_ * int64_t{plan_.lanes});
}

// The first loads have been made if there are enough. Those of the next panel follow if there are
// `more` and columns pass through shared memory.
void SkinnyLowering::MultiplyAll(const ExprRef& next_panel, const ExprRef& more) {
  for (int i = 0; i < static_cast<int>(g_.m) * plan_.columns; ++i) {
    b_.Set(c_, Int(i), ir::Float(DType::kF32, 0));
  }
  if (plan_.stages > 0) return MultiplyStages(next_panel, more);
  if (IsEarly()) Multiply(Int(0), plan_.unroll);
  const ExprRef bulk = b_.Let("bulk", ir::FloorDiv(count_, plan_.unroll));
  b_.For("group", Int(IsEarly() ? 1 : 0), bulk, 1, [&](const ExprRef& group) {
    const ExprRef step = b_.Let("group_step", group * int64_t{plan_.unroll});
    LoadColumns(step, plan_.unroll);
    Multiply(step, plan_.unroll);
  });
  if (plan_.unroll == 1) return;
  b_.For("k_step", bulk * int64_t{plan_.unroll}, count_, 1, [&](const ExprRef& step) {
    LoadColumns(step, 1);
    Multiply(step, 1);
  });
}

void SkinnyLowering::EmitBlock(const ExprRef& block, const ExprRef& thread, TileOutput& output) {
  b_.ReleaseDependents();
  PlaceBlock(block, thread);
  PlaceTile(b_.Let("tile", plan_.cluster ? ir::FloorDiv(block, plan_.split)
                                         : ir::Mod(block, plan_.grid_tiles())));
  // The columns are constant: the first loads need not wait for the launches before this one.
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
void SkinnyLowering::EmitTurns(TileOutput& output) {
  const int64_t grid = plan_.grid_tiles();
  ForTurns(b_, place_.tile, plan_.tiles, grid, [&](const ExprRef& tile, const ExprRef& more) {
    PlaceTile(tile);
    const TileOutput::Place place = place_;
    const bool staged = plan_.stages > 0;
    MultiplyAll(staged ? PanelOf(tile + grid) : nullptr, staged ? more : nullptr);
    if (!staged && IsEarly()) {
      b_.If(more, [&] {
        PlaceTile(b_.Let("next_tile", tile + grid));
        LoadColumns(Int(0), plan_.unroll);
      });
    }
    DepositSums();
    b_.Barrier();
    output.Store(sums_, place);
  });
}

}  // namespace

Result<LoweredKernel> LowerSkinny(const graph::Workload& workload, const GpuContraction& g,
                                  const SkinnyPlan& plan) {
  return SkinnyLowering(workload, g, plan).Run();
}

}  // namespace mlc::schedule
