#include "compiler/schedule/cuda/tensor/role_store.h"

#include <map>

namespace mlc::schedule {

using ir::ExprRef;
using ir::Int;

namespace {

constexpr int kFragmentRows = 8;  // from a fragment's first rows to its others

// What lies in shared memory as the output's store takes it.
ExprRef AsOutput(const graph::Workload& workload, const RoleProblem& problem, ExprRef value) {
  const bool is_output = problem.results.held == workload.outputs()[0];
  return is_output ? value : ir::MakeCast(DType::kF32, value);
}

// Null: always.
void If(ir::KernelBuilder& b, const ExprRef& inside, const std::function<void()>& body) {
  if (inside) {
    b.If(inside, body);
  } else {
    body();
  }
}

}  // namespace

RoleStore::RoleStore(const graph::Workload& workload, const RoleProblem& problem,
                     const RolePlan& plan, Fused& fused, ir::KernelBuilder& b)
    : workload_(workload), problem_(problem), plan_(plan), fused_(fused), b_(b), async_(b) {
  if (plan.narrow_chunk > 0) held_type_ = workload.graph()[problem.results.held].type.dtype;
  if (plan.split() > 1) {
    sums_ = b.SharedMemory("sums", plan.tensor.sum_dtype(),
                           int64_t{plan.tensor.bm} * plan.split_pitch());
  } else if (plan.storers > 0) {
    sums_ = b.SharedMemory("results", held_type_, plan.result_elements());
  } else if (plan.narrow_chunk > 0) {
    sums_ = b.SharedMemory("results", held_type_, plan.narrow_elements());
  } else {
    sums_ = b.SharedMemory("sums", plan.tensor.sum_dtype(), plan.staging_elements());
  }
}

void RoleStore::DeclareBarriers() {
  if (plan_.storers > 0) {
    ready_ = async_.Mbarriers("ready", plan_.result_tiles());
    filled_ = async_.Mbarriers("filled", plan_.result_tiles());
  }
  fold_ = b_.Thread("fold", plan_.tensor.sum_dtype(), 4);
  if (plan_.narrow_chunk > 0) {
    pairs_ = b_.Registers("pairs", held_type_, 2, plan_.storers > 0 ? 2 * plan_.row_tiles() : 2);
  }
  output_.emplace(workload_, problem_.g, OutputShape(), fused_, b_);
}

// Of a warp's chunk, or of the whole block's tile.
TileOutputShape RoleStore::OutputShape() const {
  if (plan_.split() == 1) {
    return {16, ChunkOf(plan_),           kRolePitch, 1,        1, false, 32,
            1,  plan_.tensor.sum_dtype(), 1,          plan_.box};
  }
  const TensorPlan& t = plan_.tensor;
  return {t.bm,
          t.bn,
          plan_.split_pitch(),
          1,
          t.split,
          false,
          plan_.threads(),
          plan_.tiles(),
          plan_.tensor.sum_dtype(),
          1,
          plan_.box};
}

void RoleStore::InitBarriers() {
  if (plan_.storers == 0) return;
  for (int64_t i = 0; i < plan_.result_tiles(); ++i) {
    async_.MbarrierInit(ready_, Int(i), plan_.storers);
    async_.MbarrierInit(filled_, Int(i), int64_t{4} * plan_.tile_groups());
  }
}

int64_t RoleStore::Pitch() const {
  if (plan_.split() > 1) return plan_.split_pitch();
  if (plan_.storers > 0) return plan_.result_pitch();
  return plan_.narrow_chunk > 0 ? plan_.narrow_pitch() : kRolePitch;
}

void RoleStore::PlaceWarp(const ExprRef& thread, const ExprRef& group, const ExprRef& group_row) {
  lane_ = b_.Let("lane", ir::Mod(thread, 32));
  warp_ = b_.Let("warp", ir::FloorDiv(thread, 32));
  group_row_ = group_row;
  ExprRef row = warp_ * int64_t{16};
  if (plan_.storers > 0 || plan_.split() > 1) {
    const ExprRef first = plan_.alternate ? group * int64_t{plan_.tensor.bm} : group_row;
    row = first + ir::Mod(warp_, 4) * 16;
  }
  sums_at_ = b_.Let("sums_at", row * Pitch());
}

void RoleStore::PlaceStorer(const ExprRef& thread) {
  storer_ = thread;
  lane_ = b_.Let("lane", ir::Mod(thread, 32));
}

ExprRef RoleStore::ResultTileOf(const Tile& tile) const {
  return plan_.alternate ? ir::Mod(tile.round, plan_.groups) : Int(0);
}

ExprRef RoleStore::ParityOf(const Tile& tile) const {
  return ir::Mod(plan_.alternate ? ir::FloorDiv(tile.round, plan_.groups) : tile.round, 2);
}

void RoleStore::Arrive(ir::BufferId barrier, const ExprRef& lane, const ExprRef& index) {
  b_.If(ir::MakeApply(ScalarOp::kEqual, {lane, Int(0)}),
        [&] { async_.MbarrierArrive(barrier, index); });
}

void RoleStore::StoreTile(ir::BufferId c, const Tile& tile) {
  c_ = c;
  if (plan_.split() > 1) return DepositSums();
  if (plan_.storers > 0) return FillTile(tile);
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    const bool narrow = plan_.narrow_chunk > 0;
    const int columns = narrow ? plan_.narrow_chunk : ChunkOf(plan_);
    for (int chunk = 0; chunk < plan_.tensor.bn / columns; ++chunk) {
      if (narrow) {
        StoreNarrow(tile, i, chunk);
      } else {
        StoreChunk(tile, i, chunk);
      }
    }
  }
}

// A warp's 16 rows of some columns: from fragments to rows of its own in shared memory, and from
// there in runs of neighbours. Thread t has columns 2 (t % 4) and the next of rows t / 4 and
// t / 4 + 8.
void RoleStore::StoreChunk(const Tile& tile, int row_tile, int chunk) {
  const ExprRef at = sums_at_ + (ir::FloorDiv(lane_, 4) * kRolePitch + ir::Mod(lane_, 4) * 2);
  b_.WarpBarrier();
  const int fragments = ChunkOf(plan_) / 8;
  for (int j = 0; j < fragments; ++j) {
    const int fragment = row_tile * plan_.column_tiles() + chunk * fragments + j;
    b_.Store(fold_, Int(0), b_.Get(c_, Int(fragment)));
    for (int half = 0; half < 2; ++half) {
      b_.Store(sums_, at + (int64_t{half} * kFragmentRows * kRolePitch + j * 8),
               b_.Load(fold_, Int(half * 2), 2));
    }
  }
  b_.WarpBarrier();
  const TileOutput::Place place = ChunkPlace(tile, row_tile, int64_t{chunk} * ChunkOf(plan_));
  IfInside(place, [&] { output_->Store(sums_, place); });
}

TileOutput::Place RoleStore::ChunkPlace(const Tile& tile, int row_tile, int64_t column) {
  TileOutput::Place place;
  place.thread = lane_;
  place.tile = place.part = Int(0);
  place.sums_at = sums_at_;
  if (plan_.storers > 0) place.sums_at = sums_at_ + (int64_t{row_tile} * 64 * Pitch() + column);
  place.batch = PlaceBatch(b_, problem_.g, Int(0));
  place.m =
      b_.Let("m_first", tile.m + group_row_ + (ir::Mod(warp_, 4) * 16 + int64_t{row_tile} * 64));
  place.n = b_.Let("n_first", tile.n + column);
  place.first = tile.first;
  return place;
}

// Whether the first output is: a warp's all lie inside or outside along the columns.
void RoleStore::IfInside(const TileOutput::Place& place, const std::function<void()>& body) {
  const GpuContraction& g = problem_.g;
  ExprRef inside;
  if (!plan_.box.IsBox() && plan_.padded_m() != g.m) inside = Less(place.m, g.m);
  if (plan_.padded_n() != g.n) inside = And(inside, Less(place.n, g.n));
  If(b_, inside, body);
}

// As StoreChunk, but the fused operations take the fragments, and results of one or two bytes go
// through shared memory: half of its traffic or less, and longer runs.
void RoleStore::StoreNarrow(const Tile& tile, int row_tile, int chunk) {
  const int columns = plan_.narrow_chunk, lanes = plan_.results.lanes(), per_row = columns / lanes;
  const TileOutput::Place place = ChunkPlace(tile, row_tile, int64_t{chunk} * columns);
  b_.WarpBarrier();
  IfInside(place, [&] { PutFragments({place}, row_tile, chunk); });
  b_.WarpBarrier();
  IfInside(place, [&] {
    b_.Unrolled("run", per_row / 2, [&](const ExprRef& run) {
      const ExprRef index = b_.Let("index", run * int64_t{32} + lane_);
      const ExprRef row = b_.Let("row_in", ir::FloorDiv(index, per_row));
      const ExprRef column = b_.Let("column_in", ir::Mod(index, per_row) * lanes);
      const auto store = [&] {
        const ExprRef at = b_.Let("at", place.sums_at + row * Pitch() + column);
        fused_.Store(0, output_->PointAt(place, row, column, lanes),
                     AsOutput(workload_, problem_, b_.Load(sums_, at, lanes)));
      };
      If(b_, output_->RowInside(place, row, 16), store);
    });
  });
}

void RoleStore::DepositSums() {
  const ExprRef at =
      b_.Let("deposit_at", sums_at_ + ir::FloorDiv(lane_, 4) * Pitch() + ir::Mod(lane_, 4) * 2);
  for (int i = 0; i < plan_.row_tiles(); ++i) {
    for (int j = 0; j < plan_.column_tiles(); ++j) {
      b_.Store(fold_, Int(0), b_.Get(c_, Int(i * plan_.column_tiles() + j)));
      for (int half = 0; half < 2; ++half) {
        const int64_t row = int64_t{i} * 64 + half * kFragmentRows;
        b_.Store(sums_, at + (row * Pitch() + j * 8), b_.Load(fold_, Int(half * 2), 2));
      }
    }
  }
}

void RoleStore::AddParts(const ExprRef& thread, const Tile& tile, const ExprRef& index,
                         const ExprRef& part) {
  TileOutput::Place place;
  place.thread = thread;
  place.tile = index;
  place.part = part;
  place.batch = PlaceBatch(b_, problem_.g, Int(0));
  place.m = b_.Let("m_first", tile.m);
  place.n = b_.Let("n_first", tile.n);
  place.first = tile.first;
  output_->Store(sums_, place);
}

// The results of a whole tile; storers have brought the other operand to their places.
void RoleStore::FillTile(const Tile& tile) {
  const ExprRef results = b_.Let("results_of", ResultTileOf(tile));
  async_.MbarrierWait(ready_, results, ParityOf(tile));
  const int columns = plan_.narrow_chunk;
  for (int chunk = 0; chunk < plan_.tensor.bn / columns; ++chunk) {
    std::vector<TileOutput::Place> places;
    for (int i = 0; i < plan_.row_tiles(); ++i) {
      places.push_back(ChunkPlace(tile, i, int64_t{chunk} * columns));
    }
    // Rows outside are computed too, and not carried: of zeros, where there is a guest.
    ExprRef inside;
    if (plan_.padded_n() != problem_.g.n) inside = Less(places[0].n, problem_.g.n);
    If(b_, inside, [&] { PutFragments(places, 0, chunk); });
  }
  b_.WarpBarrier();
  Arrive(filled_, lane_, results);
}

// The fragments of a chunk of columns as results, in rows t / 4 and 8 below of each place. All of a
// column are ready before one is stored, so that what the column needs is loaded once.
void RoleStore::PutFragments(const std::vector<TileOutput::Place>& places, int row_tile,
                             int chunk) {
  const ExprRef row = b_.Let("row_in", ir::FloorDiv(lane_, 4));
  const int fragments = plan_.narrow_chunk / 8;
  b_.Unrolled("fragment", fragments, [&](const ExprRef& j) {
    const ExprRef column = b_.Let("column_in", j * int64_t{8} + ir::Mod(lane_, 4) * 2);
    std::vector<ExprRef> stored;
    for (size_t i = 0; i < places.size(); ++i) {
      const int64_t first =
          (row_tile + static_cast<int>(i)) * plan_.column_tiles() + chunk * fragments;
      b_.Store(fold_, Int(0), b_.Get(c_, j + first));
      for (int half = 0; half < 2; ++half) {
        const ExprRef in_tile = row + int64_t{half} * kFragmentRows;
        stored.push_back(b_.Let("at", places[i].sums_at + in_tile * Pitch() + column));
        PutPair(output_->PointAt(places[i], in_tile, column, 2), half, stored.back(),
                static_cast<int>(stored.size()) - 1);
      }
    }
    for (size_t i = 0; i < stored.size(); ++i) {
      b_.Store(sums_, stored[i], b_.Get(pairs_, Int(static_cast<int64_t>(i))));
    }
  });
}

// Half of the fragment at hand.
void RoleStore::PutPair(const Point& point, int half, const ExprRef& at, int pair) {
  std::map<graph::ValueId, ExprRef> given = {
      {problem_.g.p.anchor, b_.Load(fold_, Int(half * 2), 2)}};
  if (problem_.results.guest) {
    const auto guest = static_cast<size_t>(*problem_.results.guest);
    given[workload_.operands()[guest]] = CastTo(ComputeType(held_type_), b_.Load(sums_, at, 2));
  }
  const ExprRef value = fused_.Emit(problem_.results.held, point, given);
  b_.Set(pairs_, Int(pair), ir::MakeCast(held_type_, value));
}

// Over the pieces of a tile that this thread of the storers carries.
void RoleStore::ForPieces(const Tile& tile, const std::function<void(const Piece&)>& body) {
  const GpuContraction& g = problem_.g;
  const TensorPlan& t = plan_.tensor;
  const int lanes = plan_.results.lanes();
  const int64_t per_row = t.bn / lanes, at_once = int64_t{32} * plan_.storers;
  TileOutput::Place place;
  place.batch = PlaceBatch(b_, g, Int(0));
  place.m = tile.m;
  place.n = tile.n;
  place.first = tile.first;
  const ExprRef first = b_.Let("first_at", ResultTileOf(tile) * (t.bm * Pitch()));
  const auto one = [&](const ExprRef& number) {
    const ExprRef index = b_.Let("index", number * at_once + storer_);
    const ExprRef row = b_.Let("row_in", ir::FloorDiv(index, per_row));
    const ExprRef column = b_.Let("column_in", ir::Mod(index, per_row) * lanes);
    ExprRef inside;
    if (plan_.box.IsBox()) {
      inside = output_->RowInside(place, row, 16);
    } else if (plan_.padded_m() != g.m) {
      inside = Less(place.m + row, g.m);
    }
    if (plan_.padded_n() != g.n) inside = And(inside, Less(place.n + column, g.n));
    body({b_.Let("at", first + row * Pitch() + column), output_->PointAt(place, row, column, lanes),
          inside});
  };
  b_.For("piece", Int(0), Int(PiecesOf(plan_)), kPiecesAhead, [&](const ExprRef& number) {
    b_.Unrolled("ahead", kPiecesAhead, [&](const ExprRef& i) { one(number + i); });
  });
}

// The place of the results is free: what a thread fetches to it, the same thread has carried away.
void RoleStore::FetchTile(const Tile& tile) {
  if (!problem_.results.guest) return;
  const int guest = *problem_.results.guest;
  const graph::ValueId id = workload_.operands()[static_cast<size_t>(guest)];
  const graph::TensorType& type = workload_.graph()[id].type;
  ForPieces(tile, [&](const Piece& piece) {
    b_.CopyAsync(sums_, piece.at, fused_.OperandBuffer(guest), fused_.Offset(type, piece.point.at),
                 plan_.results.lanes(),
                 piece.inside ? LanesIf(piece.inside, plan_.results.lanes()) : nullptr);
  });
}

void RoleStore::OfferTile(const Tile& tile) {
  if (problem_.results.guest) {
    b_.CommitCopies();
    b_.WaitCopies(0);
  }
  b_.WarpBarrier();
  Arrive(ready_, lane_, b_.Let("offered", ResultTileOf(tile)));
}

void RoleStore::CarryTile(const Tile& tile) {
  const ExprRef results = b_.Let("results_of", ResultTileOf(tile));
  async_.MbarrierWait(filled_, results, ParityOf(tile));
  ForPieces(tile, [&](const Piece& piece) {
    If(b_, piece.inside, [&] {
      const ExprRef held = b_.Load(sums_, piece.at, plan_.results.lanes());
      fused_.Store(0, piece.point, AsOutput(workload_, problem_, held));
    });
  });
}

}  // namespace mlc::schedule
