// How results of the role_contraction family get from registers to global memory: a warp stores
// its rows through a strip of shared memory of its own; or the warps that multiply leave whole
// tiles of results there, and storers carry them while the next tile is multiplied. Storers also
// bring the operand that is as large as the results, to where the results will lie. Appends to a
// builder; not thread-safe; borrows its arguments.
#pragma once

#include <functional>
#include <vector>

#include "compiler/ir/build_async.h"
#include "compiler/schedule/cuda/tensor/role_plan.h"
#include "compiler/schedule/cuda/tile/gpu_tile_output.h"
#include "compiler/schedule/fusion/fused.h"

namespace mlc::schedule {

class RoleStore {
 public:
  struct Tile {
    ir::ExprRef m, n;   // first row and column
    ir::ExprRef round;  // of the block
    BoxPlace first;     // of a box, whose m is 0
  };

  RoleStore(const graph::Workload& workload, const RoleProblem& problem, const RolePlan& plan,
            Fused& fused, ir::KernelBuilder& b);
  // Declares the mbarriers; after those of the stages.
  void DeclareBarriers();
  void InitBarriers();
  // Of a warp that multiplies. `group_row`: the first row of its group in a tile.
  void PlaceWarp(const ir::ExprRef& thread, const ir::ExprRef& group, const ir::ExprRef& group_row);
  // The sums in registers `c`, by fragments.
  void StoreTile(ir::BufferId c, const Tile& tile);
  // Of a storer; `thread` counts storers' threads alone.
  void PlaceStorer(const ir::ExprRef& thread);
  // In this order for each tile. Where there are two places for tiles of results, the next tile may
  // be fetched before this one is carried.
  void FetchTile(const Tile& tile);
  void OfferTile(const Tile& tile);  // to the warps that multiply
  void CarryTile(const Tile& tile);
  bool FetchesAhead() const {
    return (problem_.results.guest && plan_.result_tiles() > 1) || OffersAhead(plan_);
  }
  // Of every thread, where blocks share k: after StoreTile and a barrier. `index`: of the tile.
  void AddParts(const ir::ExprRef& thread, const Tile& tile, const ir::ExprRef& index,
                const ir::ExprRef& part);

 private:
  struct Piece {
    ir::ExprRef at;  // in the results
    Point point;
    ir::ExprRef inside;  // null: always
  };

  void StoreChunk(const Tile& tile, int row_tile, int chunk);
  void StoreNarrow(const Tile& tile, int row_tile, int chunk);
  void FillTile(const Tile& tile);
  void DepositSums();
  TileOutputShape OutputShape() const;
  void PutFragments(const std::vector<TileOutput::Place>& places, int row_tile, int chunk);
  void PutPair(const Point& point, int half, const ir::ExprRef& at, int pair);
  TileOutput::Place ChunkPlace(const Tile& tile, int row_tile, int64_t column);
  void IfInside(const TileOutput::Place& place, const std::function<void()>& body);
  void ForPieces(const Tile& tile, const std::function<void(const Piece&)>& body);
  void Arrive(ir::BufferId barrier, const ir::ExprRef& lane, const ir::ExprRef& index);
  // Of the results that a tile goes through, and the parity of that use.
  ir::ExprRef ResultTileOf(const Tile& tile) const;
  ir::ExprRef ParityOf(const Tile& tile) const;
  int64_t Pitch() const;

  const graph::Workload& workload_;
  const RoleProblem& problem_;
  const RolePlan& plan_;
  Fused& fused_;
  ir::KernelBuilder& b_;
  ir::AsyncBuilder async_;
  std::optional<TileOutput> output_;
  ir::BufferId sums_ = 0;          // or results
  DType held_type_ = DType::kF32;  // of those results
  ir::BufferId ready_ = 0, filled_ = 0, c_ = 0, fold_ = 0, pairs_ = 0;
  ir::ExprRef lane_, warp_, group_row_, sums_at_, storer_;
};

}  // namespace mlc::schedule
