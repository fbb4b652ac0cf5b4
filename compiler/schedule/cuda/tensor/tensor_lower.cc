#include "compiler/schedule/cuda/tensor/tensor_lower.h"

#include "compiler/schedule/cuda/tensor/byte_output.h"
#include "compiler/schedule/cuda/tensor/fragment_product.h"
#include "compiler/schedule/cuda/tensor/tensor_operand.h"
#include "compiler/schedule/cuda/tensor/tensor_pack.h"
#include "compiler/schedule/cuda/tensor/warpgroup_product.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

class TensorLowering {
 public:
  TensorLowering(const graph::Workload& workload, const GpuContraction& g, const TensorPlan& plan)
      : workload_(workload),
        g_(g),
        plan_(plan),
        b_(plan.warpgroups ? "warpgroup_contraction" : "tensor_contraction"),
        fused_(workload, b_, PackedOperands(workload, g)) {}

  LoweredKernel Run();

 private:
  // Where a stage begins in the memory of rows and of columns, which may be the same.
  struct Stage {
    ExprRef rows, columns;
  };
  bool Packs() const { return plan_.columns.mode == TileMode::kPacked; }
  void DeclareOperands();
  void EmitBlock(const ExprRef& block, const ExprRef& thread);
  void PlaceTile(const ExprRef& block);
  void PlaceWarp(const ExprRef& thread);
  void PlaceWarpgroup(const ExprRef& thread);
  void StartPipeline();
  void If(const ExprRef& step, const std::function<void()>& body);
  void EmitLoop();
  void EmitWarpgroupLoop();
  void EmitThreePassLoop();
  void CopyNext(const ExprRef& next);
  void Load(const Stage& stage, int unit);
  void Multiply(const ExprRef& step, const Stage& stage);
  void Zero(ir::BufferId sums, int count);
  void DepositSums();
  int RowTiles() const { return plan_.row_tiles(); }
  int ColumnTiles() const { return plan_.column_tiles(); }
  // Fragments of the next step are loaded before the last unit of a step is multiplied; with two
  // stages, what passes through registers comes after that.
  bool PrefetchesFragments() const {
    const bool late = plan_.stages == 2 && (rows_->Fetches() || columns_->Fetches());
    return plan_.sets() == 2 && plan_.units() % 2 == 0 && !late;
  }
  Stage StageAt(const ExprRef& step) {
    const ExprRef stage = ir::Mod(step, plan_.stages);
    const ExprRef rows = b_.Let("stage", stage * RowPitch());
    if (!plan_.splits_stages()) return {rows, rows};
    return {rows, b_.Let("column_stage", stage * ColumnPitch())};
  }
  // From one stage to the next.
  int64_t RowPitch() const {
    return plan_.splits_stages() ? plan_.rows.elements : plan_.stage_elements();
  }
  int64_t ColumnPitch() const {
    return plan_.splits_stages() ? plan_.columns.elements : plan_.stage_elements();
  }

  const graph::Workload& workload_;
  const GpuContraction& g_;
  const TensorPlan& plan_;
  ir::KernelBuilder b_;
  Fused fused_;
  std::vector<Binding> bindings_;
  ir::BufferId tiles_ = 0, sums_ = 0, c_ = 0, fold_ = 0;
  std::optional<TensorOperand> rows_, columns_;
  std::optional<FragmentProduct> fragments_;
  std::optional<WarpgroupProduct> product_;  // instead of fragments
  std::optional<TileOutput> output_;
  std::optional<ByteOutput> bytes_;  // of results that go through shared memory as bytes
  // Of the current block and thread.
  TileOutput::Place place_;
  ExprRef first_, count_;  // k steps of this block
  ExprRef lane_, slice_, warp_row_, warp_column_;
};

void TensorLowering::DeclareOperands() {
  bindings_ = fused_.bindings();
  ir::BufferId columns = 0;
  if (Packs()) {
    columns = b_.In("packed", g_.p.column_dtype, TensorPackedElements(g_, plan_));
    bindings_.push_back({Binding::Kind::kPrepared, 0});
  } else {
    columns = fused_.OperandBuffer(g_.p.column_operand);
  }
  const DType sum = plan_.sum_dtype();
  tiles_ = b_.SharedMemory("tiles", plan_.dtype, plan_.stages * RowPitch());
  const bool apart = plan_.splits_stages();
  const ir::BufferId column_tiles =
      apart ? b_.SharedMemory("column_tiles", g_.p.column_dtype, plan_.stages * ColumnPitch())
            : tiles_;
  if (!plan_.byte_results) sums_ = b_.SharedMemory("sums", sum, plan_.sum_elements(), tiles_);
  const int fragments = RowTiles() * ColumnTiles();
  c_ = b_.Registers("c", sum, 4, fragments);
  fold_ = b_.Thread("fold", sum, 4);
  if (plan_.warpgroups) {
    product_.emplace(plan_, tiles_, c_, b_);
  } else {
    fragments_.emplace(plan_, c_, b_);
  }
  rows_.emplace(g_, plan_, plan_.rows, 0, fused_.OperandBuffer(g_.p.row_operand), tiles_, b_);
  columns_.emplace(g_, plan_, plan_.columns, apart ? 0 : plan_.rows.elements, columns, column_tiles,
                   b_);
  const TileOutputShape shape{
      plan_.bm,    plan_.bn,      plan_.sum_pitch(), plan_.slices,
      plan_.split, plan_.cluster, plan_.threads(),   g_.z * plan_.m_tiles * plan_.n_tiles,
      sum};
  output_.emplace(workload_, g_, shape, fused_, b_);
  if (plan_.byte_results) bytes_.emplace(workload_, g_, plan_, tiles_, *output_, fused_, b_);
}

LoweredKernel TensorLowering::Run() {
  DeclareOperands();
  if (gpu::AllNarrow(workload_)) b_.Approximate();
  b_.Launch(
      plan_.blocks(g_), plan_.threads(), plan_.per_sm,
      [&](const ExprRef& block, const ExprRef& thread) { EmitBlock(block, thread); },
      plan_.cluster ? plan_.split : 1);
  LoweredKernel lowered{b_.Finish(), bindings_, {}};
  if (Packs()) lowered.preparations.push_back(TensorPackPreparation(workload_, g_, plan_));
  return lowered;
}

void TensorLowering::PlaceTile(const ExprRef& block) {
  const int64_t tiles = plan_.m_tiles * plan_.n_tiles;
  // The parts of a tile lie side by side in a cluster, else a grid of tiles apart.
  const bool cluster = plan_.cluster;
  const int apart = cluster ? 1 : plan_.split;
  const ExprRef first = cluster ? b_.Let("in_order", ir::FloorDiv(block, plan_.split)) : block;
  const bool single = g_.z * apart == 1;
  const ExprRef tile = single ? first : b_.Let("tile", ir::Mod(first, tiles));
  const ExprRef rest = single ? Int(0) : ir::FloorDiv(first, tiles);
  place_.part = b_.Let("part", ir::Mod(cluster ? block : rest, plan_.split));
  const ExprRef z = b_.Let("z", ir::FloorDiv(rest, apart));
  ExprRef m, n;
  if (plan_.raster == 0) {
    m = ir::Mod(tile, plan_.m_tiles);
    n = ir::FloorDiv(tile, plan_.m_tiles);
  } else if (plan_.raster == 1) {
    m = ir::FloorDiv(tile, plan_.n_tiles);
    n = ir::Mod(tile, plan_.n_tiles);
  } else {
    const ExprRef band = ir::FloorDiv(tile, 8 * plan_.n_tiles);
    m = band * 8 + ir::Mod(tile, 8);
    n = ir::FloorDiv(ir::Mod(tile, 8 * plan_.n_tiles), 8);
  }
  m = b_.Let("m_tile", m);
  n = b_.Let("n_tile", n);
  place_.batch = PlaceBatch(b_, g_, z);
  place_.tile = b_.Let("tile_index", z * tiles + m * plan_.n_tiles + n);
  place_.m = b_.Let("m_first", m * plan_.bm);
  place_.n = b_.Let("n_first", n * plan_.bn);
  columns_->PlaceCopies(place_.thread, place_.n, place_.batch.column_offset, z * plan_.n_tiles + n);
}

void TensorLowering::PlaceWarp(const ExprRef& thread) {
  const ExprRef warp = b_.Let("warp", ir::FloorDiv(thread, 32));
  lane_ = b_.Let("lane", ir::Mod(thread, 32));
  const int grid = plan_.warps_m * plan_.warps_n;
  slice_ = b_.Let("slice", ir::FloorDiv(warp, grid));
  warp_row_ = b_.Let("warp_row",
                     ir::Mod(ir::FloorDiv(warp, plan_.warps_n), plan_.warps_m) * plan_.warp_rows());
  warp_column_ = b_.Let("warp_column", ir::Mod(warp, plan_.warps_n) * plan_.warp_columns());
  if (plan_.slices == 1) slice_ = Int(0);
  if (plan_.warps_m == 1) warp_row_ = Int(0);
  if (plan_.warps_n == 1) warp_column_ = Int(0);
  rows_->PlaceFragments(lane_, warp_row_, slice_);
  columns_->PlaceFragments(lane_, warp_column_, slice_);
}

void TensorLowering::PlaceWarpgroup(const ExprRef& thread) {
  const ExprRef group = b_.Let("group", ir::FloorDiv(thread, 128));
  const int rows = 4 * plan_.warp_rows();
  const ExprRef row = b_.Let("group_row", ir::FloorDiv(group, plan_.warps_n) * rows);
  warp_column_ = b_.Let("group_column", ir::Mod(group, plan_.warps_n) * plan_.warp_columns());
  product_->Place(row, warp_column_);
  lane_ = b_.Let("lane", ir::Mod(thread, 32));
  slice_ = Int(0);
  warp_row_ = b_.Let("warp_row", row + ir::Mod(ir::FloorDiv(thread, 32), 4) * 16);
  if (plan_.splits_rows()) rows_->PlaceFragments(lane_, warp_row_, slice_);
}

// The prologue of the software pipeline: fills the first stages. Constant columns do not wait for
// the launches before this one.
void TensorLowering::StartPipeline() {
  const auto each = [&](const std::function<void(const ExprRef&, const Stage&)>& body,
                        bool commit) {
    for (int64_t s = 0; s < plan_.prefetch_distance(); ++s) {
      const Stage stage{Int(s * RowPitch()), Int(s * ColumnPitch())};
      If(Int(s), [&] { body(first_ + s, stage); });
      if (commit) b_.CommitCopies();
    }
  };
  if (Packs()) {
    each([&](const ExprRef& k, const Stage& stage) { columns_->Copy(k, stage.columns); }, false);
  }
  b_.AwaitInputs();
  // Not before: blocks of the next launch that come while this one's still start would crowd onto
  // the multiprocessors that happen to be free. Wide operands take so long that only the end of the
  // launch is late enough.
  if (SizeOf(plan_.dtype) < 4) b_.ReleaseDependents();
  each(
      [&](const ExprRef& k, const Stage& stage) {
        if (!Packs()) columns_->Copy(k, stage.columns);
        rows_->Copy(k, stage.rows);
        if (rows_->Fetches()) {
          rows_->Fetch(k);
          rows_->Deposit(stage.rows);
        }
        if (columns_->Fetches()) {
          columns_->Fetch(k);
          columns_->Deposit(stage.columns);
        }
      },
      true);
  // They arrive with the copies of a later step, or at the end.
  if (bytes_) bytes_->Fetch(place_);
}

// Runs `body` if the block has such a k step.
void TensorLowering::If(const ExprRef& step, const std::function<void()>& body) {
  int64_t have = 0, want = 0;
  if (ir::IsConstInt(count_, &have) && ir::IsConstInt(step, &want)) {
    if (want < have) body();
    return;
  }
  b_.If(ir::MakeApply(ScalarOp::kLess, {step, count_}), body);
}

void TensorLowering::CopyNext(const ExprRef& next) {
  const Stage stage = StageAt(next);
  const ExprRef k = b_.Let("next_k", first_ + next);
  columns_->Copy(k, stage.columns);
  rows_->Copy(k, stage.rows);
  if (rows_->Fetches()) rows_->Fetch(k);
  if (columns_->Fetches()) columns_->Fetch(k);
}

void TensorLowering::EmitLoop() {
  const auto arrive = [&] {
    b_.WaitCopies(plan_.stages - 2);
    b_.Barrier();
  };
  const bool prefetches = PrefetchesFragments();
  if (prefetches) {
    arrive();
    Load({Int(0), Int(0)}, 0);
  }
  b_.For("k_step", Int(0), count_, 1, [&](const ExprRef& step) {
    if (!prefetches) arrive();
    const ExprRef next = b_.Let("next", step + int64_t{plan_.stages - 1});
    If(next, [&] { CopyNext(next); });
    b_.CommitCopies();
    Multiply(step, StageAt(step));
    if (!rows_->Fetches() && !columns_->Fetches()) return;
    If(next, [&] {
      const Stage stage = StageAt(next);
      if (rows_->Fetches()) rows_->Deposit(stage.rows);
      if (columns_->Fetches()) columns_->Deposit(stage.columns);
    });
  });
}

// The copies of a later step begin after the products of this one: into a stage whose products all
// warpgroups have waited for before the barrier.
void TensorLowering::EmitWarpgroupLoop() {
  b_.For("k_step", Int(0), count_, 1, [&](const ExprRef& step) {
    b_.WaitCopies(plan_.prefetch_distance() - 1);
    b_.FenceTiles();
    b_.Barrier();
    product_->Begin(StageAt(step).rows);
    const ExprRef next = b_.Let("next", step + int64_t{plan_.prefetch_distance()});
    If(next, [&] { CopyNext(next); });
    b_.CommitCopies();
    product_->Wait(plan_.pending);
  });
  if (plan_.pending > 0) product_->Wait(0);
}

// Fragments of the next step are loaded while this one's products are under way, so that a group
// splits and adds while another one's go on. A barrier follows the beginning of each step's
// products, the end of those before: their stage is free from then on.
void TensorLowering::EmitThreePassLoop() {
  const auto arrive = [&](int pending) {
    b_.WaitCopies(pending);
    b_.FenceTiles();
    b_.Barrier();
  };
  const auto load = [&](const ExprRef& stage) {
    for (int unit = 0; unit < plan_.units(); ++unit) rows_->Load(stage, unit, unit);
  };
  arrive(plan_.prefetch_distance() - 1);
  load(Int(0));
  b_.For("k_step", Int(0), count_, 1, [&](const ExprRef& step) {
    product_->Split(*rows_);
    product_->BeginThrice(StageAt(step).rows);
    arrive(plan_.prefetch_distance() - 2);
    const ExprRef next = b_.Let("next", step + int64_t{plan_.prefetch_distance()});
    If(next, [&] { CopyNext(next); });
    b_.CommitCopies();
    // After the last step the same one once more, for nothing: cheaper than a branch.
    load(StageAt(b_.Let("ahead", ir::Min(step + 1, count_ - int64_t{1}))).rows);
    product_->EndThrice();
  });
}

void TensorLowering::Zero(ir::BufferId sums, int count) {
  const ExprRef zero = ZeroOf(plan_.sum_dtype(), 4);
  for (int i = 0; i < count; ++i) b_.Set(sums, Int(i), zero);
}

void TensorLowering::Load(const Stage& stage, int unit) {
  rows_->Load(stage.rows, unit, unit % plan_.sets());
  columns_->Load(stage.columns, unit, unit % plan_.sets());
}

// One k step: with two sets, the fragments of a unit are loaded while the one before is multiplied.
void TensorLowering::Multiply(const ExprRef& step, const Stage& stage) {
  const int last = plan_.units() - 1;
  if (!PrefetchesFragments()) Load(stage, 0);
  for (int unit = 0; unit <= last; ++unit) {
    if (unit < last && plan_.sets() == 2) Load(stage, unit + 1);
    if (unit == last && PrefetchesFragments()) {
      b_.WaitCopies(plan_.stages - 2);
      b_.Barrier();
      // After the last step the same one once more, for nothing: cheaper than a branch.
      Load(StageAt(b_.Let("ahead", ir::Min(step + 1, count_ - int64_t{1}))), 0);
    }
    fragments_->Multiply(*rows_, *columns_, unit % plan_.sets());
    if (unit < last && plan_.sets() == 1) Load(stage, unit + 1);
  }
}

// Sums go from fragments to rows in shared memory; thread t of a warp has columns 2 (t % 4) and the
// next of rows t / 4 and t / 4 + 8.
void TensorLowering::DepositSums() {
  const int64_t pitch = plan_.sum_pitch();
  const int64_t tile_rows = plan_.warpgroups ? 64 : 16;  // from one to the warp's next
  const ExprRef base =
      b_.Let("sums_at", slice_ * (plan_.bm * pitch) + (warp_row_ + ir::FloorDiv(lane_, 4)) * pitch +
                            warp_column_ + ir::Mod(lane_, 4) * 2);
  for (int i = 0; i < RowTiles(); ++i) {
    for (int j = 0; j < ColumnTiles(); ++j) {
      b_.Store(fold_, Int(0), b_.Get(c_, Int(i * ColumnTiles() + j)));
      for (int half = 0; half < 2; ++half) {
        const int64_t at = (i * tile_rows + half * 8) * pitch + j * 8;
        b_.Store(sums_, base + at, b_.Load(fold_, Int(half * 2), 2));
      }
    }
  }
}

void TensorLowering::EmitBlock(const ExprRef& block, const ExprRef& thread) {
  place_.thread = thread;
  PlaceTile(block);
  first_ = b_.Let("first_step", place_.part * plan_.split_steps);
  const int64_t rest = plan_.k_steps - (plan_.split - 1) * plan_.split_steps;
  count_ = Int(plan_.split_steps);
  if (rest != plan_.split_steps) {
    count_ = b_.Let("steps", ir::Min(Int(plan_.split_steps), Int(plan_.k_steps) - first_));
  }
  rows_->PlaceCopies(thread, place_.m, place_.batch.row_offset, Int(0));
  StartPipeline();
  product_ ? PlaceWarpgroup(thread) : PlaceWarp(thread);
  Zero(c_, RowTiles() * ColumnTiles());
  if (plan_.splits_rows()) {
    EmitThreePassLoop();
  } else {
    product_ ? EmitWarpgroupLoop() : EmitLoop();
  }
  b_.WaitCopies(0);
  b_.Barrier();
  if (bytes_) return bytes_->Finish(c_, place_, {lane_, warp_row_, warp_column_});
  DepositSums();
  b_.Barrier();
  output_->Store(sums_, place_);
}

}  // namespace

Result<LoweredKernel> LowerTensor(const graph::Workload& workload, const GpuContraction& g,
                                  const TensorPlan& plan) {
  return TensorLowering(workload, g, plan).Run();
}

}  // namespace mlc::schedule
