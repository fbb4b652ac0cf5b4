#include "compiler/schedule/cuda/tensor/role_lower.h"

#include <algorithm>

#include "compiler/ir/build_async.h"
#include "compiler/schedule/cuda/tensor/tensor_pack.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

class RoleLowering {
 public:
  RoleLowering(const graph::Workload& workload, const GpuContraction& g, const RolePlan& plan)
      : workload_(workload),
        g_(g),
        plan_(plan),
        tensor_(plan.tensor),
        b_("role_contraction"),
        async_(b_),
        fused_(workload, b_, PackedOperands(workload, g)) {}

  LoweredKernel Run();

 private:
  struct Step {
    ExprRef stage, parity;  // of the step's phase at its stage's barriers
  };

  bool Packs() const { return tensor_.columns.mode == TileMode::kPacked; }
  int64_t RowBytes() const { return tensor_.rows.elements * SizeOf(tensor_.dtype); }
  int64_t ColumnBytes() const { return tensor_.columns.elements * SizeOf(tensor_.dtype); }
  void DeclareOperands();
  void EmitBlock(const ExprRef& block, const ExprRef& thread);
  void ForTiles(const ExprRef& first, int64_t every, const std::function<void(ExprRef)>& body);
  void PlaceTile(const ExprRef& tile);
  Step StepOf(const ExprRef& round, const ExprRef& k) const;
  void EmitCopies();
  void EmitCopy(const ExprRef& k, const ExprRef& stage);
  void EmitProducts();
  void EmitTile(const ExprRef& round);
  void Arrive(ir::BufferId barrier, const ExprRef& index, const ExprRef& when);
  void StoreTile();
  void StoreChunk(int row_tile, int chunk);
  TileOutput::Place ChunkPlace(int row_tile, int64_t column);
  void IfInside(const TileOutput::Place& place, const std::function<void()>& body);
  void StoreNarrow(int row_tile, int chunk);
  void PutFragments(const TileOutput::Place& place, int first, int half);

  const graph::Workload& workload_;
  const GpuContraction& g_;
  const RolePlan& plan_;
  const TensorPlan& tensor_;
  ir::KernelBuilder b_;
  ir::AsyncBuilder async_;
  Fused fused_;
  std::vector<Binding> bindings_;
  ir::BufferId rows_ = 0, columns_ = 0;  // in global memory
  ir::BufferId row_tiles_ = 0, column_tiles_ = 0, sums_ = 0, full_ = 0, empty_ = 0, order_ = 0;
  ir::BufferId c_ = 0, fold_ = 0;
  bool narrow_ = false;  // sums_ are results of two bytes
  std::optional<TileOutput> output_;
  // Of the current block, thread and tile.
  ExprRef block_, thread_, group_, lane_, warp_, group_row_, sums_at_;
  ExprRef m_tile_, n_tile_;
};

void RoleLowering::DeclareOperands() {
  bindings_ = fused_.bindings();
  if (Packs()) {
    columns_ = b_.In("packed", tensor_.dtype, TensorPackedElements(g_, tensor_));
    bindings_.push_back({Binding::Kind::kPrepared, 0});
  } else {
    columns_ = fused_.OperandBuffer(g_.p.column_operand);
  }
  rows_ = fused_.OperandBuffer(g_.p.row_operand);
  const int64_t stages = tensor_.stages;
  row_tiles_ = b_.SharedMemory("row_tiles", tensor_.dtype, stages * tensor_.rows.elements);
  column_tiles_ = b_.SharedMemory("column_tiles", tensor_.dtype, stages * tensor_.columns.elements);
  narrow_ = StoresNarrow(workload_, g_, plan_);
  if (narrow_) {
    const DType dtype = workload_.graph()[workload_.outputs()[0]].type.dtype;
    sums_ = b_.SharedMemory("results", dtype, plan_.narrow_elements());
  } else {
    sums_ = b_.SharedMemory("sums", DType::kF32, plan_.staging_elements());
  }
  full_ = async_.Mbarriers("full", stages);
  empty_ = async_.Mbarriers("empty", stages);
  if (plan_.alternate) order_ = async_.Mbarriers("order", plan_.groups);
  c_ = b_.Registers("c", DType::kF32, 4, plan_.row_tiles() * plan_.column_tiles());
  fold_ = b_.Thread("fold", DType::kF32, 4);
  const TileOutputShape shape{16, kRoleChunk, kRolePitch, 1, 1, false, 32, 1, DType::kF32};
  output_.emplace(workload_, g_, shape, fused_, b_);
}

LoweredKernel RoleLowering::Run() {
  DeclareOperands();
  if (gpu::AllNarrow(workload_)) b_.Approximate();
  b_.Launch(plan_.blocks, plan_.threads(), 1,
            [&](const ExprRef& block, const ExprRef& thread) { EmitBlock(block, thread); });
  LoweredKernel lowered{b_.Finish(), bindings_, {}};
  if (Packs()) lowered.preparations.push_back(TensorPackPreparation(workload_, g_, tensor_));
  return lowered;
}

void RoleLowering::EmitBlock(const ExprRef& block, const ExprRef& thread) {
  block_ = block;
  thread_ = thread;
  for (int64_t stage = 0; stage < tensor_.stages; ++stage) {
    async_.MbarrierInit(full_, Int(stage), 1);
    async_.MbarrierInit(empty_, Int(stage), int64_t{4} * plan_.tile_groups());
  }
  for (int64_t group = 0; plan_.alternate && group < plan_.groups; ++group) {
    async_.MbarrierInit(order_, Int(group), 4);
  }
  b_.AwaitInputs();
  if (SizeOf(tensor_.dtype) < 4) b_.ReleaseDependents();
  async_.RolesIf(
      Less(thread, int64_t{32} * plan_.warps()), [&] { EmitProducts(); }, [&] { EmitCopies(); });
}

// The rounds of this block from `first` on; a round is a tile.
void RoleLowering::ForTiles(const ExprRef& first, int64_t every,
                            const std::function<void(ExprRef)>& body) {
  b_.For("round", first, Int(plan_.rounds()), every, [&](const ExprRef& round) {
    const ExprRef tile = b_.Let("tile", round * plan_.blocks + block_);
    const auto inside = [&] {
      PlaceTile(tile);
      body(round);
    };
    if (plan_.tiles() % plan_.blocks == 0) return inside();
    b_.If(Less(tile, plan_.tiles()), inside);
  });
}

void RoleLowering::PlaceTile(const ExprRef& tile) {
  const int64_t m_tiles = tensor_.m_tiles, n_tiles = tensor_.n_tiles;
  ExprRef m, n;
  if (plan_.band < 0) {
    m = ir::FloorDiv(tile, n_tiles);
    n = ir::Mod(tile, n_tiles);
  } else if (plan_.band == 0) {
    m = ir::Mod(tile, m_tiles);
    n = ir::FloorDiv(tile, m_tiles);
  } else {
    const int64_t band = plan_.band, rest = m_tiles % band, whole = (m_tiles - rest) * n_tiles;
    m = ir::FloorDiv(tile, band * n_tiles) * band + ir::Mod(tile, band);
    n = ir::FloorDiv(ir::Mod(tile, band * n_tiles), band);
    if (rest > 0) {
      // The last band is narrower. A factor of 0 or 1 chooses.
      const ExprRef last = b_.Let("last", ir::FloorDiv(tile, whole));
      const ExprRef inside = b_.Let("inside", tile - last * whole);
      m = m * (Int(1) - last) + last * (ir::Mod(inside, rest) + (m_tiles - rest));
      n = n * (Int(1) - last) + last * ir::FloorDiv(inside, rest);
    }
  }
  m_tile_ = b_.Let("m_tile", m);
  n_tile_ = b_.Let("n_tile", n);
}

RoleLowering::Step RoleLowering::StepOf(const ExprRef& round, const ExprRef& k) const {
  // Tiles that alternate use the stages one after the other, too.
  const ExprRef turn = round * tensor_.k_steps + k;
  return {ir::Mod(turn, tensor_.stages), ir::Mod(ir::FloorDiv(turn, tensor_.stages), 2)};
}

// One thread copies: each stage once its last products have ended.
void RoleLowering::EmitCopies() {
  async_.MakeTensorMaps();
  b_.If(ir::MakeApply(ScalarOp::kEqual, {thread_, Int(int64_t{32} * plan_.warps())}), [&] {
    ForTiles(Int(0), 1, [&](const ExprRef& round) {
      b_.For("k_step", tensor_.k_steps, [&](const ExprRef& k) {
        const Step step = StepOf(round, k);
        const ExprRef stage = b_.Let("stage", step.stage);
        // In the first round every stage is free: the wait is for the phase before the first.
        async_.MbarrierWait(empty_, stage, b_.Let("before", Int(1) - step.parity));
        async_.MbarrierArrive(full_, stage, static_cast<int>(RowBytes() + ColumnBytes()));
        EmitCopy(k, stage);
      });
    });
  });
}

void RoleLowering::EmitCopy(const ExprRef& k, const ExprRef& stage) {
  const ExprRef depth = b_.Let("k_first", k * int64_t{tensor_.bk});
  async_.CopyTensor({row_tiles_, stage * tensor_.rows.elements, rows_,
                     m_tile_ * int64_t{tensor_.bm}, depth, tensor_.bm, g_.m, g_.k, RowPitch(g_),
                     full_, stage});
  const ExprRef to = stage * tensor_.columns.elements;
  if (Packs()) {
    const ExprRef panel = n_tile_ * tensor_.k_steps + k;
    async_.CopyBulk({column_tiles_, to, columns_, panel * tensor_.columns.elements,
                     static_cast<int>(tensor_.columns.elements), full_, stage});
  } else {
    async_.CopyTensor({column_tiles_, to, columns_, n_tile_ * int64_t{tensor_.bn}, depth,
                       tensor_.bn, g_.n, g_.k, g_.p.column_stride, full_, stage});
  }
}

void RoleLowering::EmitProducts() {
  group_ = b_.Let("group", ir::FloorDiv(thread_, 128));
  lane_ = b_.Let("lane", ir::Mod(thread_, 32));
  warp_ = b_.Let("warp", ir::FloorDiv(thread_, 32));
  group_row_ =
      plan_.tile_groups() == 1 ? Int(0) : b_.Let("group_row", group_ * int64_t{plan_.group_rows()});
  const int64_t pitch = narrow_ ? plan_.narrow_pitch() : kRolePitch;
  sums_at_ = b_.Let("sums_at", warp_ * (16 * pitch));
  if (plan_.alternate) {
    ForTiles(group_, 2, [&](const ExprRef& round) { EmitTile(round); });
  } else {
    ForTiles(Int(0), 1, [&](const ExprRef& round) { EmitTile(round); });
  }
}

// Once for each warp: a group's products read all columns of a stage until those of every warp have
// ended.
void RoleLowering::Arrive(ir::BufferId barrier, const ExprRef& index, const ExprRef& when) {
  const ExprRef one = ir::MakeApply(ScalarOp::kEqual, {lane_, Int(0)});
  b_.If(And(one, when), [&] { async_.MbarrierArrive(barrier, index); });
}

void RoleLowering::EmitTile(const ExprRef& round) {
  const int column_tiles = plan_.column_tiles();
  for (int i = 0; i < plan_.row_tiles() * column_tiles; ++i) {
    b_.Set(c_, Int(i), ir::Float(DType::kF32, 0, 4));
  }
  if (plan_.alternate) {
    // A wait sees one phase back: not before the other group's last step.
    const ExprRef turn = ir::FloorDiv(round, 2) + group_ + 1;
    async_.MbarrierWait(order_, group_, ir::Mod(turn, 2));
  }
  b_.For("k_step", tensor_.k_steps, [&](const ExprRef& k) {
    const Step step = StepOf(round, k);
    const ExprRef stage = b_.Let("stage", step.stage);
    async_.MbarrierWait(full_, stage, step.parity);
    const ExprRef row =
        b_.Let("rows_at", stage * tensor_.rows.elements + group_row_ * int64_t{tensor_.bk});
    for (int i = 0; i < plan_.row_tiles(); ++i) {
      b_.WarpgroupMma(c_, Int(int64_t{i} * column_tiles), row_tiles_,
                      row + int64_t{i} * 64 * tensor_.bk, column_tiles_,
                      stage * tensor_.columns.elements, tensor_.bn);
    }
    b_.WaitProducts(tensor_.pending * plan_.row_tiles());
    if (tensor_.pending == 0) return Arrive(empty_, stage, nullptr);
    // The products of the step before have ended.
    const Step before = StepOf(round, k + int64_t{tensor_.stages - 1});
    Arrive(empty_, before.stage, ir::MakeApply(ScalarOp::kLess, {Int(0), k}));
  });
  if (plan_.alternate) Arrive(order_, Int(1) - group_, nullptr);
  if (tensor_.pending > 0) {
    b_.WaitProducts(0);
    Arrive(empty_, StepOf(round, Int(tensor_.k_steps - 1)).stage, nullptr);
  }
  StoreTile();
}

void RoleLowering::StoreTile() {
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    const int columns = narrow_ ? plan_.narrow_chunk : kRoleChunk;
    for (int chunk = 0; chunk < tensor_.bn / columns; ++chunk) {
      if (narrow_) {
        StoreNarrow(i, chunk);
      } else {
        StoreChunk(i, chunk);
      }
    }
  }
}

// A warp's 16 rows of some columns: from fragments to rows of its own in shared memory, and from
// there in runs of neighbours. Thread t has columns 2 (t % 4) and the next of rows t / 4 and
// t / 4 + 8.
void RoleLowering::StoreChunk(int row_tile, int chunk) {
  const ExprRef at = sums_at_ + (ir::FloorDiv(lane_, 4) * kRolePitch + ir::Mod(lane_, 4) * 2);
  b_.WarpBarrier();
  for (int j = 0; j < kRoleChunk / 8; ++j) {
    const int fragment = row_tile * plan_.column_tiles() + chunk * (kRoleChunk / 8) + j;
    b_.Store(fold_, Int(0), b_.Get(c_, Int(fragment)));
    for (int half = 0; half < 2; ++half) {
      b_.Store(sums_, at + (int64_t{half} * 8 * kRolePitch + j * 8),
               b_.Load(fold_, Int(half * 2), 2));
    }
  }
  b_.WarpBarrier();
  const TileOutput::Place place = ChunkPlace(row_tile, int64_t{chunk} * kRoleChunk);
  IfInside(place, [&] { output_->Store(sums_, place); });
}

TileOutput::Place RoleLowering::ChunkPlace(int row_tile, int64_t column) {
  TileOutput::Place place;
  place.thread = lane_;
  place.tile = place.part = Int(0);
  place.sums_at = sums_at_;
  place.batch = PlaceBatch(b_, g_, Int(0));
  place.m = b_.Let("m_first", m_tile_ * int64_t{tensor_.bm} + group_row_ +
                                  (ir::Mod(warp_, 4) * 16 + int64_t{row_tile} * 64));
  place.n = b_.Let("n_first", n_tile_ * int64_t{tensor_.bn} + column);
  return place;
}

// Whether the first output is: a warp's all lie inside or outside along the columns.
void RoleLowering::IfInside(const TileOutput::Place& place, const std::function<void()>& body) {
  ExprRef inside;
  if (g_.m % tensor_.bm != 0) inside = Less(place.m, g_.m);
  if (g_.n % tensor_.bn != 0) inside = And(inside, Less(place.n, g_.n));
  if (inside) {
    b_.If(inside, body);
  } else {
    body();
  }
}

// As StoreChunk, but the fused operations take the fragments, and results of two bytes go through
// shared memory: half of its traffic, and longer runs.
void RoleLowering::StoreNarrow(int row_tile, int chunk) {
  const int columns = plan_.narrow_chunk, per_row = columns / 8;
  const int first = row_tile * plan_.column_tiles() + chunk * per_row;
  const TileOutput::Place place = ChunkPlace(row_tile, int64_t{chunk} * columns);
  b_.WarpBarrier();
  IfInside(place, [&] {
    for (int half = 0; half < 2; ++half) PutFragments(place, first, half);
  });
  b_.WarpBarrier();
  IfInside(place, [&] {
    b_.Unrolled("run", columns / 16, [&](const ExprRef& run) {
      const ExprRef index = b_.Let("index", run * int64_t{32} + lane_);
      const ExprRef row = b_.Let("row_in", ir::FloorDiv(index, per_row));
      const ExprRef column = b_.Let("column_in", ir::Mod(index, per_row) * 8);
      const auto store = [&] {
        const ExprRef at = b_.Let("at", sums_at_ + row * int64_t{plan_.narrow_pitch()} + column);
        fused_.Store(0, output_->PointAt(place, row, column, 8), b_.Load(sums_, at, 8));
      };
      if (g_.m % 16 == 0) return store();
      b_.If(Less(place.m + row, g_.m), store);
    });
  });
}

// Rows t / 4, or 8 below, of a warp's fragments from `first` on, as results.
void RoleLowering::PutFragments(const TileOutput::Place& place, int first, int half) {
  const graph::ValueId output = workload_.outputs()[0];
  const DType dtype = workload_.graph()[output].type.dtype;
  const ExprRef row = b_.Let("row_in", ir::FloorDiv(lane_, 4) + int64_t{half} * 8);
  const auto put = [&] {
    b_.Unrolled("fragment", plan_.narrow_chunk / 8, [&](const ExprRef& j) {
      const ExprRef column = b_.Let("column_in", j * int64_t{8} + ir::Mod(lane_, 4) * 2);
      const ExprRef at = b_.Let("at", sums_at_ + row * int64_t{plan_.narrow_pitch()} + column);
      b_.Store(fold_, Int(0), b_.Get(c_, j + int64_t{first}));
      const ExprRef sum = b_.Load(fold_, Int(half * 2), 2);
      const Point point = output_->PointAt(place, row, column, 2);
      b_.Store(sums_, at, ir::MakeCast(dtype, fused_.Emit(output, point, {{g_.p.anchor, sum}})));
    });
  };
  if (g_.m % 16 == 0) return put();
  b_.If(Less(place.m + row, g_.m), put);
}

}  // namespace

Result<LoweredKernel> LowerRoles(const graph::Workload& workload, const GpuContraction& g,
                                 const RolePlan& plan) {
  return RoleLowering(workload, g, plan).Run();
}

}  // namespace mlc::schedule
