// SimtLowering of the simt_contraction family.
#include <algorithm>

#include "compiler/schedule/cuda/simt/simt_operand.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

class SimtLowering {
 public:
  SimtLowering(const graph::Workload& workload, const GpuContraction& g, const SimtPlan& plan)
      : workload_(workload),
        g_(g),
        plan_(plan),
        b_("simt_contraction"),
        fused_(workload, b_, PackedOperands(workload, g)) {}

  LoweredKernel Run();

 private:
  void EmitBlock(const ExprRef& block, const ExprRef& thread);
  void PlaceTile(const ExprRef& block);
  void EmitLoop();
  void Fetch(const ExprRef& step, const ExprRef& stage);
  void Deposit(const ExprRef& stage);
  void Multiply(const ExprRef& stage);
  void DepositSums();
  // Rows and columns of a thread come in groups, which lie a part of the tile apart.
  int RowGroup() const { return std::min(plan_.tm, 4); }
  int64_t RowAt(int i) const {
    return int64_t{i / RowGroup()} * (plan_.bm / (plan_.tm / RowGroup())) + i % RowGroup();
  }
  int64_t ColumnAt(int j) const { return int64_t{j} * (plan_.bn / (plan_.tn / 4)); }

  const graph::Workload& workload_;
  const GpuContraction& g_;
  const SimtPlan& plan_;
  ir::KernelBuilder b_;
  Fused fused_;
  ir::BufferId tiles_ = 0, sums_ = 0, a_ = 0, columns_in_ = 0, c_ = 0;
  std::optional<SimtOperand> rows_, columns_;
  std::optional<TileOutput> output_;
  TileOutput::Place place_;
  ExprRef row_, column_;  // of this thread in the tile
  ExprRef first_, count_;
};

LoweredKernel SimtLowering::Run() {
  std::vector<Binding> bindings = fused_.bindings();
  const bool packs = g_.p.column_is_weight;
  ir::BufferId columns = 0;
  if (packs) {
    columns = b_.In("packed", DType::kF32, SimtPackedElements(g_, plan_));
    bindings.push_back({Binding::Kind::kPrepared, 0});
  } else {
    columns = fused_.OperandBuffer(g_.p.column_operand);
  }
  tiles_ = b_.SharedMemory("tiles", DType::kF32, 2 * plan_.stage_elements());
  sums_ =
      b_.SharedMemory("sums", DType::kF32, int64_t{plan_.bm} * plan_.pitch(Side::kColumn), tiles_);
  a_ = b_.Registers("a", DType::kF32, 1, plan_.tm);
  columns_in_ = b_.Registers("b", DType::kF32, 4, plan_.tn / 4);
  c_ = b_.Registers("c", DType::kF32, 4, plan_.tm * plan_.tn / 4);
  rows_.emplace(g_, plan_, Side::kRow, false, 0, fused_.OperandBuffer(g_.p.row_operand), tiles_,
                b_);
  if (g_.p.blocks.block > 0) rows_->ScaleBy(fused_.OperandBuffer(g_.p.blocks.rows));
  columns_.emplace(g_, plan_, Side::kColumn, packs, plan_.bk * plan_.pitch(Side::kRow), columns,
                   tiles_, b_);
  const TileOutputShape shape{
      plan_.bm,      plan_.bn,        plan_.pitch(Side::kColumn),           1,          plan_.split,
      plan_.cluster, plan_.threads(), g_.z * plan_.m_tiles * plan_.n_tiles, DType::kF32};
  output_.emplace(workload_, g_, shape, fused_, b_);
  b_.Launch(
      plan_.blocks(g_), plan_.threads(), plan_.per_sm,
      [&](const ExprRef& block, const ExprRef& thread) { EmitBlock(block, thread); },
      plan_.cluster ? plan_.split : 1);
  LoweredKernel lowered{b_.Finish(), bindings, {}};
  if (packs) lowered.preparations.push_back(SimtPackPreparation(workload_, g_, plan_));
  return lowered;
}

void SimtLowering::PlaceTile(const ExprRef& block) {
  const int64_t tiles = plan_.m_tiles * plan_.n_tiles;
  // The parts of a tile lie side by side in a cluster, else a grid of tiles apart.
  const bool cluster = plan_.cluster;
  const ExprRef first = cluster ? b_.Let("in_order", ir::FloorDiv(block, plan_.split)) : block;
  const ExprRef tile = b_.Let("tile", ir::Mod(first, tiles));
  const ExprRef rest = ir::FloorDiv(first, tiles);
  place_.part = b_.Let("k_part", ir::Mod(cluster ? block : rest, plan_.split));
  const ExprRef z = b_.Let("z", ir::FloorDiv(rest, cluster ? 1 : plan_.split));
  const ExprRef m = b_.Let("m_tile", ir::Mod(tile, plan_.m_tiles));
  const ExprRef n = b_.Let("n_tile", ir::FloorDiv(tile, plan_.m_tiles));
  place_.batch = PlaceBatch(b_, g_, z);
  place_.tile = b_.Let("tile_index", z * tiles + m * plan_.n_tiles + n);
  place_.m = b_.Let("m_first", m * plan_.bm);
  place_.n = b_.Let("n_first", n * plan_.bn);
  columns_->Place(place_.thread, place_.n, place_.batch.column_offset, z * plan_.n_tiles + n);
  rows_->Place(place_.thread, place_.m, place_.batch.row_offset, Int(0));
  const int64_t across = plan_.bn / plan_.tn;
  row_ = b_.Let("row_in", ir::FloorDiv(place_.thread, across) * RowGroup());
  column_ = b_.Let("column_in", ir::Mod(place_.thread, across) * 4);
  first_ = b_.Let("first_step", place_.part * plan_.split_steps);
  count_ = Int(plan_.split_steps);
  if (plan_.k_steps % plan_.split_steps != 0) {
    count_ = b_.Let("steps", ir::Min(Int(plan_.split_steps), Int(plan_.k_steps) - first_));
  }
}

void SimtLowering::Fetch(const ExprRef& step, const ExprRef& stage) {
  columns_->Fetch(step, stage);
  rows_->Fetch(step, stage);
  b_.CommitCopies();
}

void SimtLowering::Deposit(const ExprRef& stage) {
  rows_->Deposit(stage);
  columns_->Deposit(stage);
}

// The next step is fetched while this one is multiplied.
void SimtLowering::EmitLoop() {
  const int64_t size = plan_.stage_elements();
  Fetch(first_, Int(0));
  Deposit(Int(0));
  b_.For("k_step", Int(0), count_, 1, [&](const ExprRef& step) {
    b_.WaitCopies(0);
    b_.Barrier();
    const ExprRef more = ir::MakeApply(ScalarOp::kLess, {step + 1, count_});
    const ExprRef next = b_.Let("next", ir::Mod(step + 1, 2) * size);
    b_.If(more, [&] { Fetch(b_.Let("next_step", first_ + step + 1), next); });
    Multiply(b_.Let("stage", ir::Mod(step, 2) * size));
    b_.If(more, [&] { Deposit(next); });
  });
}

void SimtLowering::Multiply(const ExprRef& stage) {
  const ExprRef a = b_.Let("a_at", stage + row_);
  const ExprRef b = b_.Let("b_at", stage + column_ + plan_.bk * plan_.pitch(Side::kRow));
  const int vectors = plan_.tn / 4;
  const int unroll = std::min(plan_.bk, 16);
  b_.For("k_outer", plan_.bk / unroll, [&](const ExprRef& k_outer) {
    for (int u = 0; u < unroll; ++u) {
      const ExprRef k = k_outer * int64_t{unroll} + u;
      for (int i = 0; i < plan_.tm; ++i) {
        b_.Set(a_, Int(i), b_.Load(tiles_, a + k * plan_.pitch(Side::kRow) + RowAt(i)));
      }
      for (int j = 0; j < vectors; ++j) {
        b_.Set(columns_in_, Int(j),
               b_.Load(tiles_, b + k * plan_.pitch(Side::kColumn) + ColumnAt(j), 4));
      }
      for (int i = 0; i < plan_.tm; ++i) {
        for (int j = 0; j < vectors; ++j) {
          const ExprRef at = Int(i * vectors + j);
          b_.Set(c_, at,
                 ir::MakeApply(ScalarOp::kFma, {ir::MakeBroadcast(b_.Get(a_, Int(i)), 4),
                                                b_.Get(columns_in_, Int(j)), b_.Get(c_, at)}));
        }
      }
    }
  });
}

void SimtLowering::DepositSums() {
  const int64_t pitch = plan_.pitch(Side::kColumn);
  const ExprRef at = b_.Let("sums_at", row_ * pitch + column_);
  const int vectors = plan_.tn / 4;
  for (int i = 0; i < plan_.tm; ++i) {
    for (int j = 0; j < vectors; ++j) {
      b_.Store(sums_, at + (RowAt(i) * pitch + ColumnAt(j)), b_.Get(c_, Int(i * vectors + j)));
    }
  }
}

void SimtLowering::EmitBlock(const ExprRef& block, const ExprRef& thread) {
  place_.thread = thread;
  PlaceTile(block);
  b_.AwaitInputs();
  for (int i = 0; i < plan_.tm * plan_.tn / 4; ++i) {
    b_.Set(c_, Int(i), ir::Float(DType::kF32, 0, 4));
  }
  EmitLoop();
  b_.Barrier();
  DepositSums();
  b_.Barrier();
  output_->Store(sums_, place_);
}

}  // namespace

Result<LoweredKernel> LowerSimt(const graph::Workload& workload, const GpuContraction& g,
                                const SimtPlan& plan) {
  return SimtLowering(workload, g, plan).Run();
}

}  // namespace mlc::schedule
