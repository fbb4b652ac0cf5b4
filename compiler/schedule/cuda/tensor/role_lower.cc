#include "compiler/schedule/cuda/tensor/role_lower.h"

#include <algorithm>

#include "compiler/ir/build_async.h"
#include "compiler/schedule/cuda/tensor/role_copies.h"
#include "compiler/schedule/cuda/tensor/role_order.h"
#include "compiler/schedule/cuda/tensor/role_registers.h"
#include "compiler/schedule/cuda/tensor/role_scales.h"
#include "compiler/schedule/cuda/tensor/role_store.h"
#include "compiler/schedule/cuda/tensor/tensor_pack.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {
namespace {

using ir::ExprRef;
using ir::Int;

class RoleLowering {
 public:
  RoleLowering(const graph::Workload& workload, const RoleProblem& problem, const RolePlan& plan)
      : workload_(workload),
        problem_(problem),
        g_(problem.g),
        plan_(plan),
        tensor_(plan.tensor),
        b_("role_contraction"),
        async_(b_),
        fused_(workload, b_, PackedOperands(workload, problem.g)) {}

  LoweredKernel Run();

 private:
  struct Step {
    ExprRef stage, parity;  // of the step's phase at its stage's barriers
  };

  bool Packs() const { return tensor_.columns.mode == TileMode::kPacked; }
  int64_t StageBytes() const { return plan_.stage.elements() * SizeOf(tensor_.dtype); }
  void DeclareOperands();
  void EmitBlock(const ExprRef& block, const ExprRef& thread);
  void PlaceInCluster();
  void EmitRoles();
  void EmitPart();
  void ForTiles(const ExprRef& first, int64_t every, const std::function<void(ExprRef)>& body);
  void IfTile(const ExprRef& round, const std::function<void()>& body);
  void PlaceTile(const ExprRef& tile);
  Step StepOf(const ExprRef& round, const ExprRef& k) const;
  void EmitCopies();
  void EmitCopiesOfWarp(int64_t first);
  void EmitProducts();
  void EmitTile(const ExprRef& round);
  void Multiply(const ExprRef& stage);
  void AddProducts();
  void Release(const ExprRef& stage, const ExprRef& when);
  void Arrive(ir::BufferId barrier, const ExprRef& index, const ExprRef& when);
  void EmitStores();
  RoleStore::Tile TileOf(const ExprRef& round) const {
    const ExprRef m = plan_.box.IsBox() ? Int(0) : m_tile_ * int64_t{tensor_.bm};
    return {m, n_tile_ * int64_t{tensor_.bn}, round, first_};
  }

  const graph::Workload& workload_;
  const RoleProblem& problem_;
  const GpuContraction& g_;
  const RolePlan& plan_;
  const TensorPlan& tensor_;
  ir::KernelBuilder b_;
  ir::AsyncBuilder async_;
  Fused fused_;
  std::vector<Binding> bindings_;
  ir::BufferId rows_ = 0, columns_ = 0;  // in global memory
  ir::BufferId row_tiles_ = 0, column_tiles_ = 0, full_ = 0, empty_ = 0, order_ = 0, c_ = 0;
  ir::BufferId products_ = 0;  // what the unit adds to; c_ but for plan_.apart
  std::optional<RoleScales> scales_;
  std::optional<RoleStore> store_;
  // Of the current block, thread and tile.
  ExprRef block_, thread_, group_, lane_, group_row_;
  ExprRef m_tile_, n_tile_;
  BoxPlace first_;
  ExprRef cluster_, rank_;               // number of the cluster, and the block's rank in it
  ExprRef first_step_ = Int(0), count_;  // of this block's k
};

void RoleLowering::DeclareOperands() {
  bindings_ = fused_.bindings();
  if (Packs()) {
    columns_ = b_.In("packed", g_.p.column_dtype, TensorPackedElements(g_, tensor_));
    bindings_.push_back({Binding::Kind::kPrepared, 0});
  } else {
    columns_ = fused_.OperandBuffer(g_.p.column_operand);
  }
  rows_ = fused_.OperandBuffer(g_.p.row_operand);
  const int64_t stages = tensor_.stages;
  row_tiles_ = b_.SharedMemory("row_tiles", tensor_.dtype, stages * plan_.stage.rows);
  column_tiles_ = b_.SharedMemory("column_tiles", g_.p.column_dtype, stages * plan_.stage.columns);
  store_.emplace(workload_, problem_, plan_, fused_, b_);
  full_ = async_.Mbarriers("full", stages);
  empty_ = async_.Mbarriers("empty", stages);
  if (plan_.alternate) order_ = async_.Mbarriers("order", plan_.groups);
  const int fragments = plan_.row_tiles() * plan_.column_tiles();
  c_ = b_.Registers("c", tensor_.sum_dtype(), 4, fragments);
  products_ = plan_.apart ? b_.Registers("apart", DType::kF32, 4, fragments) : c_;
  if (plan_.scaled_parts > 0) scales_.emplace(g_, plan_, fused_, b_);
  store_->DeclareBarriers();
}

LoweredKernel RoleLowering::Run() {
  DeclareOperands();
  if (gpu::AllNarrow(workload_)) b_.Approximate();
  b_.Launch(
      plan_.blocks, plan_.threads(), 1,
      [&](const ExprRef& block, const ExprRef& thread) { EmitBlock(block, thread); },
      plan_.cluster.size());
  LoweredKernel lowered{b_.Finish(), bindings_, {}};
  if (Packs()) lowered.preparations.push_back(TensorPackPreparation(workload_, g_, tensor_));
  return lowered;
}

void RoleLowering::EmitBlock(const ExprRef& block, const ExprRef& thread) {
  block_ = block;
  thread_ = thread;
  count_ = Int(plan_.stage.count);
  for (int64_t stage = 0; stage < tensor_.stages; ++stage) {
    async_.MbarrierInit(full_, Int(stage), 1);
    async_.MbarrierInit(empty_, Int(stage),
                        int64_t{4} * plan_.tile_groups() * plan_.cluster.size());
  }
  for (int64_t group = 0; plan_.alternate && group < plan_.groups; ++group) {
    async_.MbarrierInit(order_, Int(group), 4);
  }
  store_->InitBarriers();
  PlaceInCluster();
  b_.AwaitInputs();
  if (SizeOf(tensor_.dtype) < 4) b_.ReleaseDependents();
  if (plan_.split() > 1) return EmitPart();
  EmitRoles();
  if (plan_.cluster.size() == 1) return;
  // Others may still arrive at barriers of this block.
  b_.WarpBarrier();
  b_.ClusterBarrier();
}

// Others begin to use this block's barriers once it has begun them.
void RoleLowering::PlaceInCluster() {
  cluster_ = block_;
  if (plan_.cluster.size() == 1) return;
  b_.ClusterBarrier();
  cluster_ = b_.Let("cluster_number", ir::FloorDiv(block_, plan_.cluster.size()));
  rank_ = b_.Let("rank", ir::Mod(block_, plan_.cluster.size()));
}

void RoleLowering::EmitRoles() {
  const auto move = [&](int registers) {
    if (plan_.moves_registers) async_.SetRegisters(registers);
  };
  async_.RolesIf(
      Less(thread_, int64_t{32} * plan_.warps()),
      [&] {
        move(MovedRegisters(plan_).group);
        EmitProducts();
      },
      [&] {
        move(MovedRegisters(plan_).others);
        EmitCopies();
      });
}

// Of one tile. All threads finish it.
void RoleLowering::EmitPart() {
  const ExprRef tile = b_.Let("tile", ir::Mod(block_, plan_.tiles()));
  const ExprRef part = b_.Let("part", ir::FloorDiv(block_, plan_.tiles()));
  const int64_t steps = tensor_.split_steps, rest = tensor_.k_steps - (plan_.split() - 1) * steps;
  PlaceTile(tile);
  first_step_ = b_.Let("first_step", part * steps);
  if (rest != steps) {
    count_ = b_.Let("steps", ir::Min(Int(steps), Int(tensor_.k_steps) - first_step_));
  }
  EmitRoles();
  b_.Barrier();
  store_->AddParts(thread_, TileOf(Int(0)), tile, part);
}

// The rounds of this block from `first` on; a round is a tile.
void RoleLowering::ForTiles(const ExprRef& first, int64_t every,
                            const std::function<void(ExprRef)>& body) {
  if (plan_.split() > 1) return body(Int(0));
  b_.For("round", first, Int(plan_.rounds()), every, [&](const ExprRef& round) {
    const ExprRef tile = b_.Let("tile", round * plan_.clusters() + cluster_);
    const auto inside = [&] {
      PlaceTile(tile);
      body(round);
    };
    if (plan_.units() % plan_.clusters() == 0) return inside();
    b_.If(Less(tile, plan_.units()), inside);
  });
}

// The tile of a round, which may be behind the last one.
void RoleLowering::IfTile(const ExprRef& round, const std::function<void()>& body) {
  const ExprRef tile = b_.Let("next_tile", round * plan_.clusters() + cluster_);
  b_.If(Less(tile, plan_.units()), [&] {
    PlaceTile(tile);
    body();
  });
}

// `tile`: a number of units, each of the tiles of a cluster.
void RoleLowering::PlaceTile(const ExprRef& tile) {
  auto [m, n] = UnitPlace(b_, plan_, tile);
  if (plan_.cluster.m > 1) m = m * int64_t{plan_.cluster.m} + rank_;
  if (plan_.cluster.n > 1) n = n * int64_t{plan_.cluster.n} + rank_;
  m_tile_ = b_.Let("m_tile", m);
  n_tile_ = b_.Let("n_tile", n);
  if (plan_.box.IsBox()) first_ = PlaceBox(b_, g_, plan_.box, m_tile_);
}

RoleLowering::Step RoleLowering::StepOf(const ExprRef& round, const ExprRef& k) const {
  // Tiles that alternate use the stages one after the other, too.
  const ExprRef turn = round * plan_.stage.count + k;
  return {ir::Mod(turn, tensor_.stages), ir::Mod(ir::FloorDiv(turn, tensor_.stages), 2)};
}

// One thread copies: each stage once its last products have ended.
void RoleLowering::EmitCopies() {
  const int64_t first = int64_t{32} * plan_.warps();
  if (plan_.storers > 0) {
    const auto copies = [&] { EmitCopiesOfWarp(first); };
    const auto stores = [&] {
      if (!plan_.moves_registers) return EmitStores();
      b_.If(Less(thread_, first + int64_t{32} * (1 + plan_.storers)), [&] { EmitStores(); });
    };
    return b_.If(Less(thread_, first + 32), copies, stores);
  }
  EmitCopiesOfWarp(first);
}

void RoleLowering::EmitCopiesOfWarp(int64_t first) {
  async_.MakeTensorMaps();
  b_.If(ir::MakeApply(ScalarOp::kEqual, {thread_, Int(first)}), [&] {
    ForTiles(Int(0), 1, [&](const ExprRef& round) {
      b_.For("k_step", Int(0), count_, 1, [&](const ExprRef& k) {
        const Step step = StepOf(round, k);
        const ExprRef stage = b_.Let("stage", step.stage);
        // In the first round every stage is free: the wait is for the phase before the first.
        async_.MbarrierWait(empty_, stage, b_.Let("before", Int(1) - step.parity));
        async_.MbarrierArrive(full_, stage, static_cast<int>(StageBytes()));
        CopyStage(g_, plan_,
                  {{rows_, columns_},
                   {row_tiles_, column_tiles_, full_},
                   m_tile_,
                   n_tile_,
                   first_,
                   first_step_ + k,
                   stage,
                   rank_},
                  b_, async_);
      });
    });
  });
}

void RoleLowering::EmitProducts() {
  group_ = b_.Let("group", ir::FloorDiv(thread_, 128));
  lane_ = b_.Let("lane", ir::Mod(thread_, 32));
  group_row_ =
      plan_.tile_groups() == 1 ? Int(0) : b_.Let("group_row", group_ * int64_t{plan_.group_rows()});
  if (scales_) scales_->PlaceWarp(thread_, group_row_);
  store_->PlaceWarp(thread_, group_, group_row_);
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

// The group's products of a stage have ended: a lane tells each block that copies to it.
void RoleLowering::Release(const ExprRef& stage, const ExprRef& when) {
  if (plan_.cluster.size() == 1) return Arrive(empty_, stage, when);
  b_.If(And(Less(lane_, plan_.cluster.size()), when),
        [&] { async_.MbarrierArriveAt(empty_, stage, lane_); });
}

void RoleLowering::EmitTile(const ExprRef& round) {
  const ExprRef zero = ZeroOf(tensor_.sum_dtype(), 4);
  for (int i = 0; i < plan_.row_tiles() * plan_.column_tiles(); ++i) b_.Set(c_, Int(i), zero);
  // Without a loop the compiler would set the zeros of a tile after the products of the one before
  // have begun, and make them wait.
  if (tensor_.split_steps == 1 && plan_.row_tiles() > 1) b_.WaitProducts(0);
  if (plan_.alternate) {
    // A wait sees one phase back: not before the other group's last step.
    const ExprRef turn = ir::FloorDiv(round, 2) + group_ + 1;
    async_.MbarrierWait(order_, group_, ir::Mod(turn, 2));
  }
  b_.For("k_step", Int(0), count_, 1, [&](const ExprRef& k) {
    const Step step = StepOf(round, k);
    const ExprRef stage = b_.Let("stage", step.stage);
    async_.MbarrierWait(full_, stage, step.parity);
    Multiply(stage);
    if (scales_) scales_->Load(m_tile_, n_tile_, first_step_ + k);
    b_.WaitProducts(tensor_.pending * plan_.row_tiles() * plan_.share.taps);
    if (tensor_.pending == 0) {
      Release(stage, nullptr);
      return AddProducts();
    }
    // The products of the step before have ended.
    const Step before = StepOf(round, k + int64_t{tensor_.stages - 1});
    Release(before.stage, ir::MakeApply(ScalarOp::kLess, {Int(0), k}));
  });
  if (plan_.alternate) Arrive(order_, Int(1) - group_, nullptr);
  if (tensor_.pending > 0) {
    b_.WaitProducts(0);
    Release(StepOf(round, count_ - int64_t{1}).stage, nullptr);
  }
  store_->StoreTile(c_, TileOf(round));
}

void RoleLowering::Multiply(const ExprRef& stage) {
  const TapShare& share = plan_.share;
  const ExprRef group_row = share.taps > 1 ? Int(0) : group_row_;
  const ExprRef first =
      b_.Let("rows_at", stage * plan_.stage.rows + group_row * int64_t{tensor_.bk});
  for (int64_t tap = 0; tap < share.taps; ++tap) {
    for (int64_t i = 0; i < plan_.row_tiles(); ++i) {
      ExprRef row = Int(i * 64);
      if (share.taps > 1) {
        row = group_row_ + i * 64;
        row = row + ir::FloorDiv(row, share.run) * int64_t{share.extra} + tap * share.shift;
      }
      b_.WarpgroupMma(products_, Int(i * plan_.column_tiles()), row_tiles_,
                      first + row * int64_t{tensor_.bk}, column_tiles_,
                      stage * plan_.stage.columns + tap * tensor_.columns.elements, tensor_.bn,
                      !plan_.apart);
    }
  }
}

// Sums of a whole tile in the unit would lose their low bits.
void RoleLowering::AddProducts() {
  for (int i = 0; plan_.apart && i < plan_.row_tiles() * plan_.column_tiles(); ++i) {
    const std::vector<ExprRef> terms = {b_.Get(c_, Int(i)), b_.Get(products_, Int(i))};
    b_.Set(c_, Int(i), scales_ ? scales_->Added(terms, i) : ir::MakeApply(ScalarOp::kAdd, terms));
  }
}

// By the warps behind the one that copies.
void RoleLowering::EmitStores() {
  store_->PlaceStorer(b_.Let("storer", thread_ - int64_t{32} * (plan_.warps() + 1)));
  const bool ahead = store_->FetchesAhead(), offers = OffersAhead(plan_);
  const auto fetch = [&](const ExprRef& round) {
    IfTile(round, [&] {
      store_->FetchTile(TileOf(round));
      if (offers) store_->OfferTile(TileOf(round));
    });
  };
  if (ahead) fetch(Int(0));
  ForTiles(Int(0), 1, [&](const ExprRef& round) {
    const RoleStore::Tile tile = TileOf(round);
    if (!ahead) store_->FetchTile(tile);
    if (!offers) store_->OfferTile(tile);
    if (ahead) fetch(round + int64_t{1});
    store_->CarryTile(tile);
  });
}

}  // namespace

Result<LoweredKernel> LowerRoles(const graph::Workload& workload, const RoleProblem& problem,
                                 const RolePlan& plan) {
  return RoleLowering(workload, problem, plan).Run();
}

}  // namespace mlc::schedule
