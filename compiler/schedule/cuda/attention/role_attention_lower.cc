#include "compiler/schedule/cuda/attention/role_attention_lower.h"

#include <functional>

#include "compiler/ir/build_async.h"
#include "compiler/schedule/cuda/attention/role_mask.h"
#include "compiler/schedule/cuda/attention/role_softmax.h"
#include "compiler/schedule/cuda/tile/gpu_launch.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule::gpu {

using ir::ExprRef;
using ir::Int;

namespace {

constexpr int kVector = 8;  // results that are stored at once

class RoleAttentionLowering {
 public:
  RoleAttentionLowering(const graph::Workload& workload, const RoleAttentionPlan& plan)
      : workload_(workload),
        plan_(plan),
        p_(plan.problem),
        b_("role_attention"),
        async_(b_),
        fused_(workload, b_),
        softmax_(b_, plan),
        mask_(workload, plan, b_, fused_) {}

  LoweredKernel Run();

 private:
  // Tiles of one operand in shared memory, with the barriers of each place.
  struct Ring {
    ir::BufferId tiles = 0, full = 0, empty = 0;
  };
  struct Place {
    ExprRef stage, parity;
  };

  void Declare();
  void EmitBlock(const ExprRef& block, const ExprRef& thread);
  void ForTiles(const std::function<void(ExprRef round)>& body);
  void PlaceTile(const ExprRef& round, const ExprRef& tile);
  ExprRef KeyTile(const ExprRef& step) const { return steps_ - step - 1; }
  ExprRef FirstKey(const ExprRef& tile) const;
  Place PlaceOfStep(const ExprRef& step);
  Place PlaceOfQueries(const ExprRef& round);
  // One thread copies.
  void EmitCopies();
  void CopyRows(const HeadMatrix& from, const ExprRef& first_row, int rows, int64_t columns,
                ir::BufferId to, const ExprRef& to_index, ir::BufferId full, const ExprRef& stage);
  void CopyKeys(const HeadMatrix& from, const Ring& ring, int64_t columns, const ExprRef& step);
  // Warpgroups multiply.
  void EmitProducts();
  void EmitTile(const ExprRef& round);
  void EmitStep(const ExprRef& step, bool masked);
  void Scores(const ExprRef& stage);
  void Output(const ExprRef& stage);
  void Mask(const ExprRef& step, bool hides);
  void Arrive(ir::BufferId barrier, const ExprRef& index);
  void StoreResults();
  void PutResults(int chunk, int half);

  const graph::Workload& workload_;
  const RoleAttentionPlan& plan_;
  const AttentionProblem& p_;
  ir::KernelBuilder b_;
  ir::AsyncBuilder async_;
  Fused fused_;
  RoleSoftmax softmax_;
  RoleMask mask_;
  Ring q_, k_, v_;
  ir::BufferId order_ = 0, results_ = 0, turn_ = 0;
  // Of the current block, thread and tile.
  ExprRef block_, thread_, group_, lane_, warp_, pair_, row_;
  ExprRef batch_, head_, query_, steps_, first_turn_, round_, query_place_;
};

void RoleAttentionLowering::Declare() {
  const int64_t keys = int64_t{plan_.stages} * plan_.key_block;
  q_.tiles = b_.SharedMemory("queries", plan_.data, plan_.places * plan_.rows() * p_.depth);
  k_.tiles = b_.SharedMemory("keys", plan_.data, keys * p_.depth);
  v_.tiles = b_.SharedMemory("values", plan_.data, keys * p_.width);
  results_ = b_.SharedMemory("results", plan_.result, plan_.result_elements());
  const auto barriers = [&](const char* name, Ring& ring, int64_t count) {
    ring.full = async_.Mbarriers(name + std::string("_full"), count);
    ring.empty = async_.Mbarriers(name + std::string("_empty"), count);
  };
  barriers("q", q_, plan_.places);
  barriers("k", k_, plan_.stages);
  barriers("v", v_, plan_.stages);
  if (plan_.turns) order_ = async_.Mbarriers("order", plan_.groups);
  if (plan_.causal) turn_ = b_.Thread("turn", DType::kI64, 1);
}

LoweredKernel RoleAttentionLowering::Run() {
  Declare();
  b_.Approximate();
  b_.Launch(plan_.blocks, plan_.threads(), 1,
            [&](const ExprRef& block, const ExprRef& thread) { EmitBlock(block, thread); });
  return {b_.Finish(), fused_.bindings(), {}};
}

void RoleAttentionLowering::EmitBlock(const ExprRef& block, const ExprRef& thread) {
  block_ = block;
  thread_ = thread;
  const int64_t warps = int64_t{4} * plan_.groups;
  for (const Ring* ring : {&q_, &k_, &v_}) {
    for (int64_t stage = 0; stage < (ring == &q_ ? plan_.places : plan_.stages); ++stage) {
      async_.MbarrierInit(ring->full, Int(stage), 1);
      async_.MbarrierInit(ring->empty, Int(stage), warps);
    }
  }
  for (int64_t group = 0; plan_.turns && group < plan_.groups; ++group) {
    async_.MbarrierInit(order_, Int(group), 4);
  }
  b_.AwaitInputs();
  b_.ReleaseDependents();
  if (plan_.causal) b_.Store(turn_, Int(0), Int(0));
  async_.RolesIf(
      Less(thread, Int(int64_t{128} * plan_.groups)), [&] { EmitProducts(); },
      [&] { EmitCopies(); });
}

void RoleAttentionLowering::ForTiles(const std::function<void(ExprRef)>& body) {
  b_.For("round", plan_.rounds(), [&](const ExprRef& round) {
    ExprRef at = block_;
    if (plan_.causal) {
      // Every other round the other way round: tiles are ordered by how long they take.
      const ExprRef odd = b_.Let("odd", ir::Mod(round, 2));
      at = b_.Let("at", block_ + odd * (Int(plan_.blocks - 1) - block_ * int64_t{2}));
    }
    const ExprRef tile = b_.Let("tile", round * plan_.blocks + at);
    const auto inside = [&] {
      PlaceTile(round, tile);
      body(round);
      if (plan_.causal) b_.Store(turn_, Int(0), first_turn_ + steps_);
    };
    if (plan_.tiles() % plan_.blocks == 0) return inside();
    b_.If(Less(tile, Int(plan_.tiles())), inside);
  });
}

void RoleAttentionLowering::PlaceTile(const ExprRef& round, const ExprRef& tile) {
  const int64_t tiles = plan_.query_tiles();
  ExprRef head, query_tile;
  if (plan_.causal) {
    // The longest ones first.
    head = ir::Mod(tile, p_.Heads());
    query_tile = Int(tiles - 1) - ir::FloorDiv(tile, p_.Heads());
  } else {
    head = ir::FloorDiv(tile, tiles);
    query_tile = ir::Mod(tile, tiles);
  }
  head = b_.Let("bh", head);
  batch_ = b_.Let("b", ir::FloorDiv(head, p_.heads));
  head_ = b_.Let("h", ir::Mod(head, p_.heads));
  query_ = b_.Let("query", query_tile * plan_.rows());
  steps_ = Int(plan_.key_tiles());
  if (!plan_.causal) {
    first_turn_ = b_.Let("first_turn", round * plan_.key_tiles());
    return;
  }
  const ExprRef seen = query_ + (plan_.rows() + plan_.ahead + plan_.key_block - 1);
  steps_ = b_.Let("steps", ir::Min(ir::FloorDiv(seen, plan_.key_block), Int(plan_.key_tiles())));
  first_turn_ = b_.Let("first_turn", b_.Load(turn_, Int(0)));
}

ExprRef RoleAttentionLowering::FirstKey(const ExprRef& tile) const {
  const ExprRef first = tile * int64_t{plan_.key_block};
  return plan_.tail() ? ir::Min(first, Int(p_.keys - plan_.key_block)) : first;
}

RoleAttentionLowering::Place RoleAttentionLowering::PlaceOfStep(const ExprRef& step) {
  const ExprRef turn = b_.Let("turn", first_turn_ + step);
  return {b_.Let("stage", ir::Mod(turn, plan_.stages)),
          b_.Let("parity", ir::Mod(ir::FloorDiv(turn, plan_.stages), 2))};
}

RoleAttentionLowering::Place RoleAttentionLowering::PlaceOfQueries(const ExprRef& round) {
  if (plan_.places == 1) return {Int(0), b_.Let("q_parity", ir::Mod(round, 2))};
  return {b_.Let("q_place", ir::Mod(round, plan_.places)),
          b_.Let("q_parity", ir::Mod(ir::FloorDiv(round, plan_.places), 2))};
}

void RoleAttentionLowering::EmitCopies() {
  if (plan_.moves_registers()) async_.SetRegisters(plan_.copying_registers());
  const int64_t first = int64_t{128} * plan_.groups;
  const auto copies = [&] {
    async_.MakeTensorMaps();
    b_.If(Do(ScalarOp::kEqual, thread_, Int(first)), [&] {
      ForTiles([&](const ExprRef& round) {
        const Place place = PlaceOfQueries(round);
        const int64_t elements = plan_.rows() * p_.depth;
        async_.MbarrierWait(q_.empty, place.stage, b_.Let("free", Int(1) - place.parity));
        async_.MbarrierArrive(q_.full, place.stage,
                              static_cast<int>(elements * SizeOf(plan_.data)));
        CopyRows(plan_.q, query_, static_cast<int>(plan_.rows()), p_.depth, q_.tiles,
                 place.stage * elements, q_.full, place.stage);
        b_.For("key_step", Int(0), steps_, 1, [&](const ExprRef& step) {
          CopyKeys(plan_.k, k_, p_.depth, step);
          CopyKeys(plan_.v, v_, p_.width, step);
        });
      });
    });
  };
  if (plan_.copying_threads() == 32) return copies();
  b_.If(Less(thread_, Int(first + 32)), copies);
}

void RoleAttentionLowering::CopyKeys(const HeadMatrix& from, const Ring& ring, int64_t columns,
                                     const ExprRef& step) {
  const Place place = PlaceOfStep(step);
  // In the first round every place is free: the wait is for the phase before the first.
  async_.MbarrierWait(ring.empty, place.stage, b_.Let("before", Int(1) - place.parity));
  const int64_t elements = plan_.key_block * columns;
  async_.MbarrierArrive(ring.full, place.stage, static_cast<int>(elements * SizeOf(plan_.data)));
  CopyRows(from, b_.Let("first_key", FirstKey(KeyTile(step))), plan_.key_block, columns, ring.tiles,
           place.stage * elements, ring.full, place.stage);
}

// Rows of the current head, 128 bytes of each at a time.
void RoleAttentionLowering::CopyRows(const HeadMatrix& from, const ExprRef& first_row, int rows,
                                     int64_t columns, ir::BufferId to, const ExprRef& to_index,
                                     ir::BufferId full, const ExprRef& stage) {
  const ExprRef row =
      b_.Let("row", batch_ * from.row_batch + head_ * from.row_head + first_row + from.row);
  const ExprRef column =
      b_.Let("column", batch_ * from.column_batch + head_ * from.column_head + from.column);
  for (int64_t chunk = 0; chunk < columns / kChunkColumns; ++chunk) {
    async_.CopyTensor({to, to_index + chunk * rows * kChunkColumns,
                       fused_.OperandBuffer(from.operand), row, column + chunk * kChunkColumns,
                       rows, from.rows, from.depth, from.pitch, full, stage});
  }
}

void RoleAttentionLowering::EmitProducts() {
  if (plan_.moves_registers()) async_.SetRegisters(plan_.group_registers());
  group_ = b_.Let("group", ir::FloorDiv(thread_, 128));
  lane_ = b_.Let("lane", ir::Mod(thread_, 32));
  warp_ = b_.Let("warp", ir::FloorDiv(thread_, 32));
  pair_ = b_.Let("pair", ir::Mod(lane_, 4) * 2);
  // Of the block's tile.
  row_ = b_.Let("row_in", warp_ * 16 + ir::FloorDiv(lane_, 4));
  softmax_.Begin(row_, pair_);
  ForTiles([&](const ExprRef& round) { EmitTile(round); });
}

// Once for each warp: a group's products read all of a tile until those of every warp have ended.
void RoleAttentionLowering::Arrive(ir::BufferId barrier, const ExprRef& index) {
  b_.If(Do(ScalarOp::kEqual, lane_, Int(0)), [&] { async_.MbarrierArrive(barrier, index); });
}

void RoleAttentionLowering::EmitTile(const ExprRef& round) {
  round_ = round;
  softmax_.Reset();
  const Place queries = PlaceOfQueries(round);
  query_place_ = queries.stage;
  async_.MbarrierWait(q_.full, queries.stage, queries.parity);
  {
    const Place place = PlaceOfStep(Int(0));
    async_.MbarrierWait(k_.full, place.stage, place.parity);
    Scores(place.stage);
    b_.WaitProducts(0);
    Arrive(k_.empty, place.stage);
  }
  Mask(Int(0), true);
  softmax_.Update(true);
  softmax_.PutWeights();
  ExprRef unmasked = Int(1);
  if (plan_.causal) {
    // Tiles that all queries of the block see.
    const ExprRef seen = ir::FloorDiv(query_ + (plan_.ahead + 1), plan_.key_block);
    unmasked = b_.Let("unmasked", ir::Max(steps_ - seen, Int(1)));
    b_.For("key_step", Int(1), ir::Min(unmasked, steps_), 1,
           [&](const ExprRef& step) { EmitStep(step, true); });
  }
  b_.For("key_step", unmasked, steps_, 1, [&](const ExprRef& step) { EmitStep(step, false); });
  Arrive(q_.empty, queries.stage);
  const Place last = PlaceOfStep(steps_ - 1);
  async_.MbarrierWait(v_.full, last.stage, last.parity);
  Output(last.stage);
  softmax_.AddUp();
  b_.WaitProducts(0);
  Arrive(v_.empty, last.stage);
  StoreResults();
}

// The scores of a tile of keys, while the weights of the one before are multiplied by its values.
void RoleAttentionLowering::EmitStep(const ExprRef& step, bool masked) {
  const Place place = PlaceOfStep(step), before = PlaceOfStep(step - 1);
  async_.MbarrierWait(k_.full, place.stage, place.parity);
  async_.MbarrierWait(v_.full, before.stage, before.parity);
  if (plan_.turns) {
    // First steps of tiles have no turn. The first group waits for the last one's turn before.
    const ExprRef first = Int(1) - ir::Min(group_, Int(1));
    const ExprRef turn = b_.Let("order_turn", first_turn_ - round_ + step - 1 + first);
    async_.MbarrierWait(order_, group_, ir::Mod(turn, 2));
  }
  Scores(place.stage);
  Output(before.stage);
  if (plan_.turns) Arrive(order_, ir::Mod(group_ + 1, plan_.groups));
  b_.WaitProducts(plan_.key_chunks());
  Arrive(k_.empty, place.stage);
  Mask(step, masked);
  softmax_.Update(false);
  b_.WaitProducts(0);
  Arrive(v_.empty, before.stage);
  softmax_.ScaleOutput();
  softmax_.PutWeights();
}

void RoleAttentionLowering::Scores(const ExprRef& stage) {
  const ExprRef rows = b_.Let("rows_at", query_place_ * (plan_.rows() * p_.depth) +
                                             group_ * int64_t{kGroupQueries * kChunkColumns});
  const ExprRef keys = b_.Let("keys_at", stage * (plan_.key_block * p_.depth));
  for (int64_t chunk = 0; chunk < plan_.depth_chunks(); ++chunk) {
    b_.WarpgroupMma(softmax_.scores(), Int(0), q_.tiles,
                    rows + chunk * plan_.rows() * kChunkColumns, k_.tiles,
                    keys + chunk * plan_.key_block * kChunkColumns, plan_.key_block, chunk > 0);
  }
}

void RoleAttentionLowering::Output(const ExprRef& stage) {
  const ExprRef values = b_.Let("values_at", stage * (plan_.key_block * p_.width));
  for (int64_t chunk = 0; chunk < plan_.key_chunks(); ++chunk) {
    b_.WarpgroupMma(softmax_.output(), Int(0), softmax_.weights(), Int(chunk * 8), v_.tiles,
                    values + chunk * kChunkColumns * kChunkColumns, static_cast<int>(p_.width),
                    true, plan_.key_block * kChunkColumns);
  }
}

// Adds the mask, and hides scores where the step may have some to hide.
void RoleAttentionLowering::Mask(const ExprRef& step, bool hides) {
  hides = hides && (plan_.causal || plan_.tail());
  if (!hides && plan_.mask == graph::kNoValue) return;
  const ExprRef tile = b_.Let("key_tile", KeyTile(step));
  const ExprRef first = b_.Let("first_key", FirstKey(tile));
  if (plan_.mask != graph::kNoValue) {
    mask_.Add(softmax_, batch_, head_, b_.Let("query_row", query_ + row_), first + pair_);
  }
  if (hides) softmax_.Mask(query_, first, tile * int64_t{plan_.key_block});
}

// A warp's 16 rows, 64 columns at a time: from fragments to rows of its own in shared memory, and
// from there in runs of neighbours.
void RoleAttentionLowering::StoreResults() {
  constexpr int kPitch = kChunkColumns + kResultGap, kRuns = kChunkColumns / kVector;
  const ExprRef first_row = b_.Let("first_row", query_ + warp_ * 16);
  for (int chunk = 0; chunk < plan_.width_chunks(); ++chunk) {
    b_.WarpBarrier();
    for (int half = 0; half < 2; ++half) PutResults(chunk, half);
    b_.WarpBarrier();
    b_.Unrolled("run", 16 * kRuns / 32, [&](const ExprRef& run) {
      const ExprRef index = b_.Let("index", run * int64_t{32} + lane_);
      const ExprRef row = b_.Let("result_row", ir::FloorDiv(index, kRuns));
      const ExprRef column = b_.Let("result_column", ir::Mod(index, kRuns) * kVector);
      const ExprRef query = b_.Let("result_query", first_row + row);
      const auto store = [&] {
        const ExprRef at = b_.Let("results_at", warp_ * (16 * kPitch) + row * kPitch + column);
        const Point point{
            {batch_, head_, query, column + int64_t{chunk} * kChunkColumns}, 3, kVector, nullptr};
        fused_.Store(0, point, b_.Load(results_, at, kVector));
      };
      if (p_.queries % plan_.rows() == 0) return store();
      b_.If(Less(query, Int(p_.queries)), store);
    });
  }
}

// The thread's row, or the one 8 below, of a chunk as results.
void RoleAttentionLowering::PutResults(int chunk, int half) {
  constexpr int kPitch = kChunkColumns + kResultGap;
  const ExprRef row = b_.Let("row_at", row_ + int64_t{half} * 8);
  const ExprRef query = b_.Let("result_query", query_ + row);
  const auto put = [&] {
    for (int j = 0; j < kChunkColumns / 8; ++j) {
      const int tile = chunk * kChunkColumns / 8 + j;
      b_.Store(softmax_.fold(), Int(0), b_.Get(softmax_.output(), Int(tile)));
      const ExprRef value = Do(ScalarOp::kMul, b_.Load(softmax_.fold(), Int(half * 2), 2),
                               ir::MakeBroadcast(softmax_.Factor(half), 2));
      const Point point{{batch_, head_, query, pair_ + int64_t{tile} * 8}, 3, 2, nullptr};
      const ExprRef result = fused_.Emit(workload_.outputs()[0], point, {{p_.anchor, value}});
      b_.Store(results_, row * kPitch + pair_ + int64_t{j} * 8, ir::MakeCast(plan_.result, result));
    }
  };
  if (p_.queries % plan_.rows() == 0) return put();
  b_.If(Less(query, Int(p_.queries)), put);
}

}  // namespace

LoweredKernel LowerRoleAttention(const graph::Workload& workload, const RoleAttentionPlan& plan) {
  return RoleAttentionLowering(workload, plan).Run();
}

}  // namespace mlc::schedule::gpu
